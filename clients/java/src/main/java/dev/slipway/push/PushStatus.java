package dev.slipway.push;

import java.time.Duration;

/**
 * What the client does.
 *
 * @param reason why the client waits or is closed, as a readable text
 * @param closeCode of the last connection; null before the first close
 * @param delay until the next attempt; only while waiting
 */
public record PushStatus(State state, String reason, Integer closeCode, Duration delay) {
  /** CONNECTING: a handshake is running. WAITING: the next attempt is scheduled. CLOSED: no attempt before open(). */
  public enum State {
    CONNECTING,
    OPEN,
    WAITING,
    CLOSED
  }
}
