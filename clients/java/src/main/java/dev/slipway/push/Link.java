package dev.slipway.push;

/** One attempt, and the connection that it becomes. */
interface Link {
  /** What an attempt reports, on the thread of the client. */
  interface Events {
    void frame(String text);

    void closed(int code, String reason);
  }

  /** {@code websocket} or {@code sse}. */
  String transport();

  /** False if too much waits to be sent. */
  boolean send(String text);

  void close();
}
