import type { FaultWindow, History, PublishAttempt, PublishedMessage } from "./history.ts";
import { type Violation, violation } from "./violation.ts";

/** The documented five seconds, plus a margin for a busy machine. */
const answerWithinMs = 15_000;
const usualStatuses = [0, 200, 503];

export function checkPublishes({ from, messages, faults }: History): Violation[] {
  return messages.flatMap((message) => [
    ...message.attempts
      .filter(({ sentAt }) => sentAt >= from)
      .flatMap((attempt) => checkAnswer(message, attempt, faults)),
    ...checkIds(message),
  ]);
}

function checkAnswer(message: PublishedMessage, attempt: PublishAttempt, faults: FaultWindow[]): Violation[] {
  const found: Violation[] = [];
  const about = `${nameOf(message)} at ${attempt.gateway}`;
  if (!usualStatuses.includes(attempt.status))
    found.push(violation("publish-answer", `${about} was answered ${attempt.status}`));
  const tookMs = attempt.endedAt - attempt.sentAt;
  if (attempt.status !== 200 && !isDuringFault(faults, attempt.sentAt, attempt.endedAt))
    found.push(violation("publish-answer", `${about} was answered ${attempt.status} without a fault`));
  // A stopped process, or one without network, cannot respond.
  if (attempt.status !== 0 && tookMs > answerWithinMs + overlapMs(faults, attempt.sentAt, attempt.endedAt))
    found.push(violation("publish-answer", `${about} was answered after ${Math.round(tookMs)} ms`));
  return found;
}

function checkIds(message: PublishedMessage): Violation[] {
  if (message.key === null) return [];
  const ids = [...new Set(message.attempts.flatMap(({ id }) => id ?? []))];
  if (ids.length < 2) return [];
  return [violation("idempotency", `${nameOf(message)} has the ids ${ids.join(" and ")}`)];
}

export function isDuringFault(faults: FaultWindow[], from: number, to: number): boolean {
  return faults.some((fault) => fault.from <= to && fault.to >= from);
}

export function overlapMs(faults: FaultWindow[], from: number, to: number): number {
  return faults.reduce(
    (sum, fault) => sum + Math.max(0, Math.min(fault.to, to) - Math.max(fault.from, from)),
    0,
  );
}

export function nameOf({ number, targetType, target, key }: PublishedMessage): string {
  return `message ${number} to ${targetType}:${target}${key === null ? "" : ` (key ${key})`}`;
}
