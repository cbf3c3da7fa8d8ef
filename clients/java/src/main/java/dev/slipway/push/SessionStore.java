package dev.slipway.push;

import java.io.IOException;

/** Keeps one text for each key. */
public interface SessionStore {
  /** Null: nothing is kept under this key. */
  String read(String key) throws IOException;

  void write(String key, String value) throws IOException;
}
