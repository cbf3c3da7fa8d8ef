import { isConsoleUser } from "../../model/console/console-names.ts";
import type { UserReport } from "../../model/gateway/message-report.ts";
import type { Connections } from "../connection/connections.ts";
import { connectionsOfUser } from "../connection/reported-connection.ts";
import type { MessageQuestion } from "../message/control-message.ts";
import { positionOf } from "../message/position.ts";
import type { TracedMessage } from "../message/traced-message.ts";
import type { MessageTrace } from "./message-trace.ts";
import type { RefusedToken } from "./refused-tokens.ts";
import { isSimilarName } from "./similar-names.ts";
import { around, type ConnectionEvent, countAt, type MembershipEvent } from "./user-events.ts";

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
  /** Where the user is, if the question names one. Absent: the process is of version 1.0. */
  user?: UserPart | null;
  /** Since when this process knows all messages; null: it knows none. */
  since: number | null;
}

/** What one process knows about the connections of a user. */
export interface UserPart {
  connections: Omit<UserReport["connections"][number], "instance">[];
  lastClosed: { closeCode: number; at: number } | null;
  /** Since when the process remembers openings and closes. */
  since: number;
}

/** A JWT that one process refused. */
export type RefusedTokenPart = Pick<RefusedToken, "cause" | "isSigned"> & { at: number };

const maxMessages = 100;
/** Messages to all and to channels are listed beside those to the user, and do not displace them. */
const maxBroadcasts = 20;
const maxOfChannels = 50;
const maxConnections = 100;
const maxSimilar = 5;
const maxBytes = 200_000;

/** What this process remembers about a user. */
interface Remembered {
  userId: string;
  history: readonly ConnectionEvent[];
  memberships: readonly MembershipEvent[];
  /** Channels in which the user is or was. */
  channels: ReadonlySet<string>;
}

/** The answer of this process to a question about messages. */
export function tracedHere(gateway: TracingGateway, question: MessageQuestion): TraceAnswer {
  const { trace } = gateway;
  const asked = "userId" in question ? rememberedOf(gateway, question.userId) : null;
  const found: TracedMessage[] = [];
  const addressedLike = new Set<string>();
  for (const entries of [trace.published, trace.unpublished]) {
    const left = { direct: maxMessages, all: maxBroadcasts, channel: maxOfChannels };
    for (const entry of entries.newestFirst()) {
      const { targetType } = entry;
      const kind = targetType === "all" || targetType === "channel" ? targetType : "direct";
      if (asked ? concerns(entry, asked) : isAskedFor(entry, question)) {
        if (left[kind]-- > 0) found.push(entry);
      } else if (asked && isSimilarUser(entry, asked.userId)) addressedLike.add(entry.target);
      if (left.direct <= 0) break;
    }
  }
  const remembered = asked ?? rememberedOf(gateway, userOf(found[0]));
  let bytes = 0;
  const messages = found
    .map((entry) => partOf(gateway, entry, remembered, asked !== null))
    .filter((part) => {
      bytes += Buffer.byteLength(JSON.stringify(part));
      return bytes <= maxBytes;
    });
  const { oldest } = trace.published;
  return {
    messages,
    connectedLike: similarUsers(gateway.connections, remembered.userId),
    addressedLike: [...addressedLike].slice(0, maxSimilar),
    refusedTokens: (asked ? trace.refusedTokens.ofUser(asked.userId) : []).map(
      ({ cause, isSigned, atMs }) => ({ cause, isSigned, at: gateway.wallTimeOf(atMs) }),
    ),
    user: asked && userPartOf(gateway, asked),
    // A message is distributed some time after it was published, and reports name the earlier time.
    since: oldest ? Math.min(oldest.ts, gateway.wallTimeOf(oldest.atMs)) : null,
  };
}

/** Empty `userId`: the question is about a message that is not to one user. */
function rememberedOf({ trace, connections }: TracingGateway, userId: string): Remembered {
  if (userId === "") return { userId, history: [], memberships: [], channels: new Set() };
  const memberships = trace.memberships.ofUser(userId);
  const open = connections.ofUser(userId).flatMap(({ data }) => [...(data.channels ?? [])]);
  return {
    userId,
    history: trace.history.ofUser(userId),
    memberships,
    channels: new Set([...open, ...memberships.map(({ channel }) => channel)]),
  };
}

function userPartOf(gateway: TracingGateway, { userId, history }: Remembered): UserPart {
  const closed = history.find(({ type }) => type === "closed");
  return {
    connections: connectionsOfUser(gateway, userId).slice(0, maxConnections),
    lastClosed: closed ? { closeCode: closed.closeCode, at: gateway.wallTimeOf(closed.atMs) } : null,
    since: gateway.wallTimeOf(gateway.trace.history.sinceMs),
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

function isAskedFor({ id }: TracedMessage, question: MessageQuestion): boolean {
  return "messageId" in question && id === question.messageId;
}

/** Whether the message is to the user, to all, or to a channel in which the user is or was. */
function concerns({ targetType, target, targets }: TracedMessage, { userId, channels }: Remembered): boolean {
  if (targetType === "channel") return channels.has(target);
  if (targetType === "all") return !isConsoleUser(userId);
  return targets ? targets.has(userId) : target === userId;
}

/** `isOfUser`: the question names a user. For a message to several users, the answer covers this user only. */
function partOf(gateway: TracingGateway, entry: TracedMessage, remembered: Remembered, isOfUser: boolean) {
  const { id, offset, ts, targetType, target, targets, asksAck, state, failureCode, about } = entry;
  const { userId, history } = remembered;
  const isToOne = targets === null;
  const deliveries = (entry.deliveries ?? []).filter(
    (delivery) => isToOne || !isOfUser || delivery.userId === userId,
  );
  const isCounted = !entry.isFollowed || entry.isPartial;
  const count = (wanted: string) => deliveries.filter((delivery) => delivery.state === wanted).length;
  const { before, after } = around(history, entry.atMs);
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
    ofUser: isOfUser && !entry.isFollowed ? countedFor(gateway, entry, remembered) : null,
    closedBefore: before && { closeCode: before.closeCode, at: gateway.wallTimeOf(before.atMs) },
    openedAfter: after && {
      recovered: after.type !== "gap",
      resumed: after.type === "resumed",
      at: gateway.wallTimeOf(after.atMs),
    },
  };
}

/**
 * Of a message to all or to a channel: with how many connections the user was to get it here, and otherwise what happened to
 * the user's place in the channel around it. Null: it is no longer known.
 */
function countedFor(
  { connections, trace, wallTimeOf }: TracingGateway,
  { targetType, target, atMs }: TracedMessage,
  { userId, history, memberships }: Remembered,
) {
  if (targetType === "all") {
    if (!trace.history.isKnownSince(atMs)) return null;
    const own = countAt(history, atMs, connections.countOfUser(userId));
    return { userId, connections: own, left: null, joined: null };
  }
  if (!trace.memberships.isKnownSince(atMs)) return null;
  const events = memberships.filter(({ channel }) => channel === target);
  const now = connections.ofUser(userId).filter(({ data }) => data.channels?.has(target)).length;
  const { before, after } = around(events, atMs);
  return {
    ...{ userId, connections: countAt(events, atMs, now) },
    left: before && { closeCode: before.closeCode, at: wallTimeOf(before.atMs) },
    joined: after && { at: wallTimeOf(after.atMs) },
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
