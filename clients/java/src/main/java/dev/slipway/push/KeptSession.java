package dev.slipway.push;

import java.io.IOException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Position and channels of the last connection, so that a process that starts again resumes. */
final class KeptSession {
  record Session(String position, List<String> channels) {}

  private final String key;
  private final SessionStore store;

  /** Without a key nothing is kept. */
  KeptSession(String key, SessionStore store) {
    this.key = key;
    this.store = key != null && store == null ? new FileSessionStore() : store;
  }

  /** Null: nothing is kept. */
  Session read() {
    if (key == null) return null;
    try {
      String kept = store.read(key);
      Map<String, Object> fields = kept == null ? Map.of() : Json.object(kept);
      if (!(fields.get("position") instanceof String position)) return null;
      if (!(fields.get("channels") instanceof List<?> channels)) return null;
      return new Session(position, channels.stream().map(String::valueOf).toList());
    } catch (IOException unreadable) {
      return null; // The client starts anew.
    }
  }

  void write(String position, Collection<String> channels) {
    if (key == null) return;
    String names = channels.stream().map(Json::quoted).collect(Collectors.joining(","));
    try {
      store.write(key, "{\"position\":" + Json.quoted(position) + ",\"channels\":[" + names + "]}");
    } catch (IOException denied) {
      // The disk is full or denied: the next process starts anew.
    }
  }
}
