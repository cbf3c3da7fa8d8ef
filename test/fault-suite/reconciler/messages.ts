import type { ClientEvent, ClientHistory, History, PublishedMessage } from "./history.ts";
import { nameOf } from "./publishes.ts";
import { type Violation, violation } from "./violation.ts";

/**
 * The time in which a client must have every message: one connection, and later ones with `recovered: true`.
 * After `recovered: false` the application loads its data again, so a new span begins.
 */
interface Span {
  from: number;
  /** When its last connection ended; null: it is still open. */
  endedAt: number | null;
  /** Closed and opened again with `recovered: true`. */
  bridges: { from: number; to: number }[];
  received: { number: number; at: number }[];
}

interface Acknowledged {
  message: PublishedMessage;
  firstSentAt: number;
  acknowledgedAt: number;
}

export function checkMessages({ messages, clients }: History): Violation[] {
  const known = new Map(messages.map((message) => [message.number, message]));
  const acknowledged = messages.flatMap(acknowledgedOf);
  return clients.flatMap((client) => [
    ...checkReceived(client, known),
    ...checkOrder(client, spansOf(client), known),
    ...spansOf(client).flatMap((span) => checkCompleteness(client, span, acknowledged)),
  ]);
}

export function acknowledgedOf(message: PublishedMessage): Acknowledged[] {
  const answer = message.attempts.find(({ status }) => status === 200);
  const first = message.attempts[0];
  return answer && first ? [{ message, firstSentAt: first.sentAt, acknowledgedAt: answer.endedAt }] : [];
}

export function isFor(client: ClientHistory, { targetType, target }: PublishedMessage): boolean {
  if (targetType === "all") return true;
  if (targetType === "channel") return client.channels.includes(target);
  return client.userId === target && (targetType === "user" || client.isTemporary);
}

/** Duplicates and messages for others. Only after `recovered: false` a client may get a known id again. */
function checkReceived(client: ClientHistory, known: Map<number, PublishedMessage>): Violation[] {
  const found: Violation[] = [];
  const everReceived = new Set(client.receivedBefore);
  let inThisSpan = new Set<number>();
  for (const event of client.events) {
    if (event.type === "open" && !event.recovered) inThisSpan = new Set();
    if (event.type !== "message") continue;
    const message = known.get(event.number);
    if (!message) {
      // Of an earlier round.
      if (client.protocol === "slipway.v1" && everReceived.has(event.number) && !event.isRepeatedId)
        found.push(
          violation(
            "duplicate",
            `${client.name} received message ${event.number} again, with id ${event.id}`,
          ),
        );
      continue;
    }
    if (!isFor(client, message)) found.push(violation("stray", `${client.name} received ${nameOf(message)}`));
    // A raw client cannot resume, so each connection is a span.
    const isKnownToClient = client.protocol === "raw" ? inThisSpan : everReceived;
    if (inThisSpan.has(event.number) || (isKnownToClient.has(event.number) && !event.isRepeatedId))
      found.push(
        violation("duplicate", `${client.name} received ${nameOf(message)} again, with id ${event.id}`),
      );
    everReceived.add(event.number);
    inThisSpan.add(event.number);
  }
  return found;
}

export function spansOf(client: ClientHistory): Span[] {
  const spans: Span[] = [];
  let current: Span | undefined;
  for (const event of client.events) {
    if (event.type === "open") current = opened(client, current, event, spans);
    else if (event.type === "close" && current) current.endedAt = event.at;
    else if (event.type === "message" && current && !event.isRepeatedId)
      current.received.push({ number: event.number, at: event.at });
  }
  return spans;
}

function opened(
  client: ClientHistory,
  current: Span | undefined,
  event: Extract<ClientEvent, { type: "open" }>,
  spans: Span[],
): Span {
  if (current && client.protocol === "slipway.v1" && event.recovered) {
    current.bridges.push({ from: current.endedAt ?? event.at, to: event.at });
    current.endedAt = null;
    return current;
  }
  const span: Span = { from: event.at, endedAt: null, bridges: [], received: [] };
  spans.push(span);
  return span;
}

/** Only the first arrival of a message counts for the order; a later one is a duplicate. A refused message does not count. */
function checkOrder(client: ClientHistory, spans: Span[], known: Map<number, PublishedMessage>): Violation[] {
  const found: Violation[] = [];
  const seen = new Set(client.receivedBefore);
  for (const span of spans) {
    const last = new Map<string, number>();
    for (const { number } of span.received) {
      const message = known.get(number);
      const acknowledged = message ? acknowledgedOf(message)[0] : undefined;
      if (!message || !acknowledged || seen.has(number)) continue;
      seen.add(number);
      const target = `${message.targetType}:${message.target}`;
      const before = last.get(target) ?? -1;
      if (before > number)
        found.push(
          violation("reordered", `${client.name} received ${nameOf(message)} after message ${before}`),
        );
      last.set(target, Math.max(before, number));
    }
  }
  return found;
}

function checkCompleteness(client: ClientHistory, span: Span, acknowledged: Acknowledged[]): Violation[] {
  const received = new Set(span.received.map(({ number }) => number));
  const lastOfTarget = new Map<string, number>();
  for (const { message } of acknowledged)
    if (received.has(message.number)) {
      const target = `${message.targetType}:${message.target}`;
      lastOfTarget.set(target, Math.max(lastOfTarget.get(target) ?? -1, message.number));
    }
  return acknowledged.flatMap(({ message, firstSentAt, acknowledgedAt }) => {
    if (!isFor(client, message) || received.has(message.number)) return [];
    if (firstSentAt < span.from) return [];
    if (span.endedAt !== null) {
      // The client loads its data again, so the last messages of a lost connection may be missing, but none in between.
      const last = lastOfTarget.get(`${message.targetType}:${message.target}`) ?? -1;
      if (last < message.number || acknowledgedAt > span.endedAt) return [];
    }
    const bridge = span.bridges.find(
      ({ from, to }) => firstSentAt <= to && acknowledgedAt >= from - bridgeMs,
    );
    const text = `${client.name} never received ${nameOf(message)}, acknowledged at ${seconds(acknowledgedAt)}`;
    return bridge
      ? [violation("recovered-across-a-gap", `${text}; it said recovered: true at ${seconds(bridge.to)}`)]
      : [violation("lost", text)];
  });
}

/** A lost connection is detected some seconds after its last message. */
const bridgeMs = 15_000;

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`;
}
