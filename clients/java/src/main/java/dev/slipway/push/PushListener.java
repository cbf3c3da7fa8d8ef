package dev.slipway.push;

/**
 * What the client reports, on one thread and in order. While a method runs, nothing more is read from the connection: a
 * listener that blocks for long is a slow reader.
 */
public interface PushListener {
  default void onMessage(PushMessage message) {}

  default void onOpen(PushOpened opened) {}

  default void onStatus(PushStatus status) {}

  default void onJoined(String channel) {}

  default void onLeft(String channel) {}

  default void onMember(PushMember member) {}

  default void onProblem(PushProblem problem) {}
}
