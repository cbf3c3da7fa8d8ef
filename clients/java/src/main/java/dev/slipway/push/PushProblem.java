package dev.slipway.push;

/**
 * For example a channel that the connection may not join; it is not requested again.
 *
 * @param channel null if the problem is not about a channel
 */
public record PushProblem(String code, String message, String channel) {}
