package dev.slipway.push;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The JSON of frames: maps, lists, strings, doubles, booleans and null. */
final class Json {
  private static final int MAX_DEPTH = 100;
  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  /** An empty map if the text is not a JSON object. */
  static Map<String, Object> object(String text) {
    try {
      Json json = new Json(text);
      Object value = json.value(0);
      json.skipSpace();
      if (json.at == text.length() && value instanceof Map<?, ?> map) return fields(map);
    } catch (IllegalArgumentException | IndexOutOfBoundsException notJson) {
      // Reported as no fields.
    }
    return Map.of();
  }

  private static Map<String, Object> fields(Map<?, ?> map) {
    Map<String, Object> fields = new LinkedHashMap<>();
    map.forEach((name, value) -> fields.put((String) name, value));
    return fields;
  }

  /** A JSON object of texts: name, value, name, value, ... */
  static String texts(String... namesAndValues) {
    StringBuilder out = new StringBuilder("{");
    for (int i = 0; i < namesAndValues.length; i += 2) {
      if (i > 0) out.append(',');
      out.append(quoted(namesAndValues[i])).append(':').append(quoted(namesAndValues[i + 1]));
    }
    return out.append('}').toString();
  }

  static String quoted(String value) {
    StringBuilder out = new StringBuilder("\"");
    for (char c : value.toCharArray()) {
      if (c == '"' || c == '\\') out.append('\\').append(c);
      else if (c < ' ' || Character.isSurrogate(c)) out.append(String.format("\\u%04x", (int) c));
      else out.append(c);
    }
    return out.append('"').toString();
  }

  private Object value(int depth) {
    if (depth > MAX_DEPTH) throw new IllegalArgumentException("too deep");
    skipSpace();
    return switch (text.charAt(at)) {
      case '{' -> map(depth);
      case '[' -> list(depth);
      case '"' -> string();
      case 't' -> word("true", true);
      case 'f' -> word("false", false);
      case 'n' -> word("null", null);
      default -> number();
    };
  }

  private Map<String, Object> map(int depth) {
    Map<String, Object> fields = new LinkedHashMap<>();
    at++;
    if (next('}')) return fields;
    do {
      skipSpace();
      String name = string();
      if (!next(':')) throw new IllegalArgumentException("no colon");
      fields.put(name, value(depth + 1));
    } while (next(','));
    if (!next('}')) throw new IllegalArgumentException("no end of an object");
    return fields;
  }

  private List<Object> list(int depth) {
    List<Object> items = new ArrayList<>();
    at++;
    if (next(']')) return items;
    do items.add(value(depth + 1));
    while (next(','));
    if (!next(']')) throw new IllegalArgumentException("no end of a list");
    return items;
  }

  private String string() {
    if (text.charAt(at++) != '"') throw new IllegalArgumentException("no text");
    StringBuilder out = new StringBuilder();
    for (char c = text.charAt(at++); c != '"'; c = text.charAt(at++))
      out.append(c == '\\' ? escaped(text.charAt(at++)) : c);
    return out.toString();
  }

  private char escaped(char c) {
    if (c == 'u') return (char) Integer.parseInt(text.substring(at, at += 4), 16);
    int index = "bfnrt".indexOf(c);
    return index < 0 ? c : "\b\f\n\r\t".charAt(index);
  }

  private Object word(String word, Object value) {
    if (!text.startsWith(word, at)) throw new IllegalArgumentException("no value");
    at += word.length();
    return value;
  }

  private Double number() {
    int start = at;
    while (at < text.length() && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0) at++;
    return Double.valueOf(text.substring(start, at));
  }

  private boolean next(char c) {
    skipSpace();
    boolean isNext = text.charAt(at) == c;
    if (isNext) at++;
    return isNext;
  }

  private void skipSpace() {
    while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
  }
}
