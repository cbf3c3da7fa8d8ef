import type { AddedCall, NewOutgoingCall } from "../../model/outgoing-call.ts";
import type { OperationKeepers } from "../../model/store.ts";

/**
 * Limit of waiting calls of all instances. Beyond it, the project with the most calls loses one.
 */
export const maxCalls = 1000;
const maxCallsPerTarget = 100;
/**
 * The instance that stored a call makes its first attempt at once. If it was killed, every instance may make it after
 * this time.
 */
const firstTryWithinMs = 15_000;

/**
 * Stores calls in the transaction of the change that they report, so that a crash loses neither. The result is for the
 * outbox, once the transaction is on disk.
 */
export async function storeCalls(
  keepers: Pick<OperationKeepers, "outgoingCalls" | "now">,
  calls: readonly NewOutgoingCall[],
  /** The span that the calls belong to. */
  traceparent: string | null,
): Promise<AddedCall[]> {
  const createdAt = keepers.now();
  const nextTryAt = new Date(createdAt.getTime() + firstTryWithinMs);
  const limits = { total: maxCalls, perTarget: maxCallsPerTarget };
  const added: AddedCall[] = [];
  for (const call of calls)
    added.push(
      await keepers.outgoingCalls.add({ ...call, traceparent, attempts: 0, nextTryAt, createdAt }, limits),
    );
  return added;
}
