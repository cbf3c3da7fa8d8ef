import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { OutgoingAttemptKeeper } from "../../model/outgoing-attempt.ts";
import type { OutboxOptions } from "./outbox.ts";

/** Number of attempts kept per project. */
const keptAttempts = 50;

export function buildAttemptRecord(parts: {
  attempts: OutgoingAttemptKeeper;
  now(): Date;
  log: Logger;
}): OutboxOptions["record"] {
  return async (call, attempt, { isDelivered, status, fault, response }) => {
    const { projectId, kind, event, targetId } = call;
    try {
      const at = await parts.now();
      const host = new URL(call.url).host;
      await parts.attempts.add(
        { projectId, at, kind, event, targetId, host, attempt, isDelivered, status, fault, response },
        keptAttempts,
      );
    } catch (error) {
      // A deleted project has no record; a failure to record is not retried.
      parts.log.debug({ projectId, error: messageOf(error) }, "an outgoing attempt was not recorded");
    }
  };
}
