package dev.slipway.push;

/**
 * A pushed message.
 *
 * @param targetType {@code all}, {@code user}, {@code temp_user} or {@code channel}
 * @param ts when it was published, in milliseconds since the epoch
 */
public record PushMessage(String id, String targetType, String target, String data, long ts) {}
