package dev.slipway.push;

/** A user came to, or left, a channel whose name starts with {@code presence-}. */
public record PushMember(boolean joined, String channel, String userId) {}
