import { newReason, type Reason, type Sentence } from "../../reason/reason.ts";
import { closeCodes } from "../connection/connection.ts";
import type { TracedPart } from "./trace-answer.ts";

/** What one instance knows about a message. */
export type InstancePart = TracedPart & { instance: string };

/** What else was learned from all instances. */
export interface TraceContext {
  /** Instances that did not answer in time. */
  missing: readonly string[];
  /** Connected users with a similar user id. */
  connectedLike: readonly string[];
}

/** Why a message arrived or did not, from what all instances know about it; in the order of what explains most. */
export function causeOf(parts: readonly InstancePart[], context: TraceContext): Sentence {
  const read = parts.filter(({ state }) => state === "distributed" || state === "kept");
  if (read.length === 0) return causeOfUndelivered(parts);
  const [{ targetType }] = read as [InstancePart];
  const isToUser = targetType === "user" || targetType === "temp_user";
  const delivered = isToUser ? causeByDelivery(read) : null;
  if (delivered) return delivered;
  // The instances that distributed it have ended, and their connections with them.
  if (read.every(({ state }) => state === "kept"))
    return newReason("trace_before_start", { instances: namesOf(read) });
  if (isToUser) return causeOfAbsence(read, context, read[0]?.target ?? "");
  return causeByUser(read, context) ?? causeByCounts(read);
}

/** Whether a message to all or to a channel reached this user, or why not; null: it is not known. */
function causeByUser(parts: readonly InstancePart[], context: TraceContext): Sentence | null {
  const asked = parts.flatMap(({ ofUser }) => ofUser ?? []);
  const [first] = asked;
  if (first === undefined || asked.length < parts.length) return null;
  const [{ targetType, target }] = parts as [InstancePart];
  const own = asked.reduce((total, { connections }) => total + connections, 0);
  if (own === 0)
    return targetType === "channel"
      ? causeOfNoMembership(parts, first.userId, target)
      : causeOfAbsence(parts, context, first.userId);
  const instances = namesOf(parts.filter(({ ofUser }) => (ofUser?.connections ?? 0) > 0));
  const values = { user: first.userId, own, instances };
  if (targetType === "channel") return newReason("trace_member", { ...values, channel: target });
  return newReason("trace_counted_user", values);
}

/** Why the user was in no connection of the channel. */
function causeOfNoMembership(parts: readonly InstancePart[], user: string, channel: string): Sentence {
  const left = latest(parts.flatMap(({ ofUser }) => ofUser?.left ?? []));
  const joined = earliest(parts.flatMap(({ ofUser }) => ofUser?.joined ?? []));
  const next = earliest(parts.flatMap(({ openedAfter }) => openedAfter ?? []));
  // Channels of the handshake are joined before the connection resumes.
  if (joined && next?.resumed && joined.at <= next.at)
    return newReason("trace_resumed_later", { user, at: minuteText(next.at) });
  if (left?.closeCode === 0)
    return newReason("trace_left_channel", { user, channel, at: minuteText(left.at) });
  if (left)
    return newReason("trace_left_by_close", {
      user,
      channel,
      at: minuteText(left.at),
      code: closeText(left.closeCode),
    });
  return newReason("trace_joined_later", { user, channel, at: minuteText(joined?.at ?? 0) });
}

function causeOfUndelivered(parts: readonly InstancePart[]): Sentence {
  const repeated = parts.find(({ state }) => state === "repeated");
  if (repeated) return newReason("trace_repeated", { id: repeated.about });
  const { failureCode = 0, about = "" } = parts[0] ?? {};
  return newReason("trace_refused", { code: failureCode, text: about });
}

function causeByCounts(parts: readonly InstancePart[]): Sentence {
  const [written, waiting] = [sum(parts, "written"), sum(parts, "waiting")];
  const [{ targetType, target }] = parts as [InstancePart];
  if (written + waiting === 0)
    return targetType === "channel"
      ? newReason("trace_no_members", { channel: target })
      : newReason("trace_nobody");
  const reached = parts.filter((part) => part.written + part.waiting > 0);
  return newReason("trace_counted", { count: written, instances: namesOf(reached), waiting });
}

/** Null: no connection was to get it. */
function causeByDelivery(parts: readonly InstancePart[]): Sentence | null {
  const [written, acknowledged] = [sum(parts, "written"), sum(parts, "acknowledged")];
  const where = (isMeant: (connection: TracedPart["connections"][number]) => boolean) =>
    namesOf(parts.filter(({ connections }) => connections.some(isMeant)));
  if (acknowledged > 0) {
    const total = written + sum(parts, "waiting") + sum(parts, "closed");
    const instances = where(({ state }) => state === "acknowledged");
    return newReason("trace_acknowledged", { count: acknowledged, total, instances });
  }
  const resumedOn = where(({ state, isResumed }) => isResumed && state === "written");
  if (resumedOn !== "") return newReason("trace_resumed", { instances: resumedOn });
  if (written > 0) {
    const values = { count: written, instances: namesOf(parts.filter((part) => part.written > 0)) };
    if (!parts.some(({ ack }) => ack)) return newReason("trace_written", values);
    const canAcknowledge = where(({ protocol }) => protocol === "slipway.v1") !== "";
    return newReason(canAcknowledge ? "trace_unacknowledged" : "trace_raw", values);
  }
  const waitingOn = where(({ state }) => state === "waiting");
  if (waitingOn !== "") return newReason("trace_waiting", { instances: waitingOn });
  const lost = parts.flatMap(({ connections }) => connections).find(({ state }) => state === "closed");
  if (!lost) return null;
  const values = {
    instances: where(({ state }) => state === "closed"),
    code: closeText(lost.closeCode ?? 0),
  };
  return newReason(
    lost.closeCode === closeCodes.slowConsumer ? "trace_slow_consumer" : "trace_closed",
    values,
  );
}

/** Codes that no program has sent, in words. */
function closeText(code: number): Reason {
  if (code === 1005) return newReason("close_without_code");
  return code === 1006 ? newReason("close_broken") : String(code);
}

/** Why the user had no connection that could get it. */
function causeOfAbsence(
  parts: readonly InstancePart[],
  { missing, connectedLike }: TraceContext,
  user: string,
): Sentence {
  const normalOn = namesOf(parts.filter(({ otherKind }) => otherKind > 0));
  if (normalOn !== "") return newReason("trace_only_normal", { user, instances: normalOn });
  const living = new Set(parts.filter(({ state }) => state === "distributed").map((part) => part.instance));
  const gone = new Set(parts.flatMap(({ presentOn }) => presentOn).filter((name) => !living.has(name)));
  if (gone.size > 0) return newReason("trace_instance_gone", { user, instances: [...gone].join(", ") });
  const next = earliest(parts.flatMap(({ openedAfter }) => openedAfter ?? []));
  if (next && !next.recovered) return newReason("trace_gap", { user, at: minuteText(next.at) });
  if (next?.resumed) return newReason("trace_resumed_later", { user, at: minuteText(next.at) });
  const last = latest(parts.flatMap(({ closedBefore }) => closedBefore ?? []));
  if (last) {
    const isLifetime =
      last.closeCode === closeCodes.lifetimeReached || last.closeCode === closeCodes.codeExpired;
    const values = { user, code: closeText(last.closeCode), at: minuteText(last.at) };
    return newReason(isLifetime ? "trace_lifetime" : "trace_closed_earlier", values);
  }
  if (next) return newReason("trace_connected_later", { user, at: minuteText(next.at) });
  const [similar] = connectedLike;
  if (similar !== undefined) return newReason("trace_similar", { user, similar });
  if (missing.length > 0) return newReason("trace_no_answer", { user, instances: missing.join(", ") });
  return newReason("trace_no_connection", { user });
}

function sum(
  parts: readonly InstancePart[],
  field: "written" | "waiting" | "acknowledged" | "closed",
): number {
  return parts.reduce((total, part) => total + part[field], 0);
}

function namesOf(parts: readonly InstancePart[]): string {
  return [...new Set(parts.map(({ instance }) => instance))].sort().join(", ");
}

function earliest<T extends { at: number }>(events: readonly T[]): T | undefined {
  return events.toSorted((a, b) => a.at - b.at)[0];
}

function latest<T extends { at: number }>(events: readonly T[]): T | undefined {
  return events.toSorted((a, b) => b.at - a.at)[0];
}

function minuteText(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 16).replace("T", " ");
}
