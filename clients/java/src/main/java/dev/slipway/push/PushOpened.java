package dev.slipway.push;

/**
 * A connection is open.
 *
 * @param reconnected false on the first connection, true on each later one
 * @param recovered true only if no message since the last connection can be missing; if false, load your data again
 */
public record PushOpened(
    String connectionId, String userId, boolean reconnected, boolean recovered, String transport) {}
