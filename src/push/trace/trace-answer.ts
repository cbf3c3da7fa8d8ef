import { isConsoleUser } from "../../model/console/console-names.ts";
import type { Connections } from "../connection/connections.ts";
import type { MessageQuestion } from "../message/control-message.ts";
import { positionOf } from "../message/position.ts";
import type { TracedMessage } from "../message/traced-message.ts";
import { around, type ConnectionEvent } from "./connection-history.ts";
import type { MessageTrace } from "./message-trace.ts";
import type { RefusedToken } from "./refused-tokens.ts";
import { isSimilarName } from "./similar-names.ts";

/** The parts of a gateway that know about messages. */
export interface TracingGateway {
  trace: MessageTrace;
  connections: Connections;
  wallTimeOf(steadyMs: number): number;
}

/** What one process knows about a message. Times are milliseconds since 1970. */
export type TracedPart = ReturnType<typeof partOf>;

/** The answer of one process. It is a record of the log, so it holds no content of messages. */
export interface TraceAnswer {
  /** The newest first. */
  messages: TracedPart[];
  /** User ids like that of the question: of open connections, and of messages. */
  connectedLike: string[];
  addressedLike: string[];
  /** JWTs with this user that were refused, the newest first. Absent: the process is of version 1.0. */
  refusedTokens?: RefusedTokenPart[];
  /** Since when this process knows all messages; null: it knows none. */
  since: number | null;
}

/** A JWT that one process refused. */
export type RefusedTokenPart = Pick<RefusedToken, "cause" | "isSigned"> & { at: number };

const maxMessages = 100;
const maxSimilar = 5;
const maxBytes = 200_000;

/** The answer of this process to a question about messages. */
export function tracedHere(gateway: TracingGateway, question: MessageQuestion): TraceAnswer {
  const { trace } = gateway;
  const found: TracedMessage[] = [];
  const addressedLike = new Set<string>();
  for (const entries of [trace.published, trace.unpublished]) {
    const limit = found.length + maxMessages;
    for (const entry of entries.newestFirst()) {
      if (isAskedFor(entry, question)) found.push(entry);
      else if ("userId" in question && isSimilarUser(entry, question.userId)) addressedLike.add(entry.target);
      if (found.length >= limit) break;
    }
  }
  const userId = "userId" in question ? question.userId : userOf(found[0]);
  const events = userId === "" ? [] : trace.history.ofUser(userId);
  let bytes = 0;
  const messages = found
    .map((entry) => partOf(gateway, entry, "userId" in question ? userId : null, events))
    .filter((part) => {
      bytes += Buffer.byteLength(JSON.stringify(part));
      return bytes <= maxBytes;
    });
  const { oldest } = trace.published;
  return {
    messages,
    connectedLike: similarUsers(gateway.connections, userId),
    addressedLike: [...addressedLike].slice(0, maxSimilar),
    refusedTokens: ("userId" in question ? trace.refusedTokens.ofUser(question.userId) : []).map(
      ({ cause, isSigned, atMs }) => ({ cause, isSigned, at: gateway.wallTimeOf(atMs) }),
    ),
    // A message is distributed some time after it was published, and reports name the earlier time.
    since: oldest ? Math.min(oldest.ts, gateway.wallTimeOf(oldest.atMs)) : null,
  };
}

function isSimilarUser(message: TracedMessage, userId: string): boolean {
  const name = userOf(message);
  return name !== "" && isSimilarName(name, userId);
}

/** Empty: the message is not to one user. */
function userOf(message: TracedMessage | undefined): string {
  const isToUser = message?.targetType === "user" || message?.targetType === "temp_user";
  return isToUser ? message.target : "";
}

function isAskedFor({ id, targetType, target, targets }: TracedMessage, question: MessageQuestion): boolean {
  if ("messageId" in question) return id === question.messageId;
  if (targetType === "channel") return false;
  return targets ? targets.has(question.userId) : target === question.userId;
}

/** `userId`: of a message to several users, only what concerns this one. */
function partOf(
  gateway: TracingGateway,
  entry: TracedMessage,
  userId: string | null,
  events: readonly ConnectionEvent[],
) {
  const { id, offset, ts, targetType, target, targets, asksAck, state, failureCode, about } = entry;
  const isToOne = targets === null;
  const deliveries = (entry.deliveries ?? []).filter(
    (delivery) => isToOne || userId === null || delivery.userId === userId,
  );
  const isCounted = !entry.isFollowed || entry.isPartial;
  const count = (wanted: string) => deliveries.filter((delivery) => delivery.state === wanted).length;
  const { before, after } = around(events, entry.atMs);
  return {
    ...{ id, ts, targetType, target, ack: asksAck, state, failureCode, about },
    position: offset < 0 ? null : positionOf(offset, id),
    users: targets?.size ?? null,
    at: gateway.wallTimeOf(entry.atMs),
    written: isCounted ? entry.written : count("written") + count("acknowledged"),
    waiting: isCounted ? entry.waiting : count("waiting"),
    acknowledged: count("acknowledged"),
    closed: count("closed"),
    connections: deliveries.map(({ message: _, isV1, atMs, closeCode, ...delivery }) => ({
      ...delivery,
      protocol: isV1 ? ("slipway.v1" as const) : ("raw" as const),
      closeCode: closeCode === 0 ? null : closeCode,
      at: gateway.wallTimeOf(atMs),
    })),
    otherKind: isToOne ? entry.otherKind : 0,
    presentOn: entry.presentOn,
    closedBefore: before && { closeCode: before.closeCode, at: gateway.wallTimeOf(before.atMs) },
    openedAfter: after && { recovered: after.type === "opened", at: gateway.wallTimeOf(after.atMs) },
  };
}

function similarUsers(connections: Connections, userId: string): string[] {
  const similar: string[] = [];
  if (userId === "") return similar;
  for (const connected of connections.userIds()) {
    if (!isSimilarName(connected, userId) || isConsoleUser(connected)) continue;
    similar.push(connected);
    if (similar.length >= maxSimilar) break;
  }
  return similar;
}
