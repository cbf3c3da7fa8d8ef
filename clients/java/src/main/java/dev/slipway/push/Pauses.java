package dev.slipway.push;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** How long the client waits before its next attempt. */
final class Pauses {
  /** After a connection of this length the pauses start with the shortest again. */
  private static final long STABLE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private static final int MAX_REFUSED_CODES = 3;

  /** For this long after close code 1012 the pauses are short: the gateway may have no others, and is back soon. */
  private static final long RESTART_NANOS = TimeUnit.SECONDS.toNanos(30);

  private static final double RESTART_DELAY_MILLIS = 1500;

  private final PushOptions options;
  private int failures;
  private int refusedCodes;
  private Long openedAt;
  private Long restartedAt;

  Pauses(PushOptions options) {
    this.options = options;
  }

  void start() {
    failures = 0;
    refusedCodes = 0;
  }

  void opened() {
    refusedCodes = 0;
    restartedAt = null;
    openedAt = System.nanoTime();
  }

  /** Null: no further attempt. */
  Duration after(int closeCode) {
    CloseRule rule = CloseRule.of(closeCode);
    boolean isLastCode = rule == CloseRule.NEW_CODE && ++refusedCodes >= MAX_REFUSED_CODES;
    if (rule == CloseRule.STOP || isLastCode) return null;
    if (isSince(openedAt, STABLE_NANOS)) failures = 0;
    openedAt = null;
    if (closeCode == 1012) restartedAt = System.nanoTime();
    double random = ThreadLocalRandom.current().nextDouble();
    // A random moment within the second, so that the clients of a drained server do not all reconnect at once.
    if (rule == CloseRule.SOON) return Duration.ofMillis((long) (1000 * random));
    boolean isRestarting = restartedAt != null && !isSince(restartedAt, RESTART_NANOS);
    double doubled = options.minDelay.toMillis() * Math.pow(2, Math.min(failures, 30));
    double pause = Math.min(options.maxDelay.toMillis(), isRestarting ? RESTART_DELAY_MILLIS : doubled);
    if (!isRestarting) failures++;
    return Duration.ofMillis((long) (pause * (0.5 + random / 2)));
  }

  private static boolean isSince(Long at, long nanos) {
    return at != null && System.nanoTime() - at >= nanos;
  }
}
