import { setting } from "./declare-setting.ts";
import { boolean, bytes, duration, integer, positiveBytes, positiveDuration } from "./setting-kinds.ts";

/** Sizes of messages, and what is kept of them. */
export const messageSettings = {
  "push.compression": setting(
    boolean,
    false,
    "Whether messages from 1 KiB are compressed for clients that offer permessage-deflate. Costs processor time for each recipient.",
  ),
  "push.max-message-bytes": setting(positiveBytes, "1 MiB", "Largest published message."),
  "push.client-max-message-bytes": setting(
    positiveBytes,
    "64 KiB",
    "Largest client message; above it: close 1009.",
  ),
  "push.send-buffer-bytes": setting(
    positiveBytes,
    "1 MiB",
    "Unsent bytes of one connection; above it, a connection that has read nothing for a second is closed with 4102.",
  ),
  "push.send-buffer-total": setting(
    positiveBytes,
    "256 MiB",
    "Unsent bytes of all connections; above it, the connections with the most are closed, and each one at a quarter of it.",
  ),
  "push.slow-consumer-timeout": setting(
    positiveDuration,
    "30s",
    "A connection with unsent bytes and no progress for this long is closed with 4102.",
  ),
  "push.resume.bytes": setting(
    bytes,
    "64 MiB",
    "Memory for the messages that each process keeps for clients that resume: their bytes and about 400 for each; 0: none.",
  ),
  "push.resume.age": setting(duration, "120s", "Age of the oldest message kept for clients that resume."),
  "push.trace-messages": setting(
    integer(0, 1_000_000),
    10_000,
    "Messages of which each instance remembers what became of them, in memory and within 16 MiB; 0: none.",
  ),
};
