import type { MessageReport, ReportedMessage, UserReport } from "../model/gateway/message-report.ts";
import type { Sentence } from "../reason/reason.ts";
import type { ClusterAnswers } from "./cluster-questions.ts";
import type { MessageTrace } from "./trace/message-trace.ts";
import type { TraceAnswer } from "./trace/trace-answer.ts";
import { causeOf, type InstancePart } from "./trace/trace-cause.ts";

/** What all processes of the cluster know about messages, as one report. */
export function traceReport({ answers, missing }: ClusterAnswers): MessageReport {
  const told = answers.map(({ instance, answer }) => ({ instance, ...(answer as TraceAnswer) }));
  const connectedLike = distinct(told.flatMap((one) => one.connectedLike));
  const parts = told.flatMap(({ instance, messages }) => messages.map((part) => ({ ...part, instance })));
  const sinces = told.flatMap(({ since }) => since ?? []);
  return {
    messages: [...Map.groupBy(parts, ({ id }) => id).values()]
      .map((of) => messageOf(of, causeOf(of, { missing, connectedLike })))
      .sort((a, b) => (a.publishedAt < b.publishedAt ? 1 : -1)),
    connectedLike,
    addressedLike: distinct(told.flatMap((one) => one.addressedLike)),
    refusedTokens: told
      .flatMap(({ instance, refusedTokens = [] }) => refusedTokens.map((token) => ({ ...token, instance })))
      .sort((a, b) => b.at - a.at)
      .map(({ instance, at, cause, isSigned }) => ({ instance, at: timeText(at), cause, isSigned })),
    user: userOf(told),
    since: sinces.length === 0 ? null : timeText(Math.max(...sinces)),
    missing,
  };
}

/** Null: the question names no user. */
function userOf(told: readonly (TraceAnswer & { instance: string })[]): UserReport | null {
  const parts = told.flatMap(({ instance, user }) => (user ? [{ ...user, instance }] : []));
  if (parts.length === 0) return null;
  const [lastClosed] = parts.flatMap((part) => part.lastClosed ?? []).toSorted((a, b) => b.at - a.at);
  return {
    connections: parts.flatMap(({ instance, connections }) =>
      connections.map((connection) => ({ ...connection, instance })),
    ),
    lastClosed: lastClosed ? { closeCode: lastClosed.closeCode, at: timeText(lastClosed.at) } : null,
    since: timeText(Math.max(...parts.map(({ since }) => since))),
  };
}

/** Adds the contents, as far as this process has them: they are not part of what instances tell each other. */
export function withContents(messages: readonly ReportedMessage[], trace: MessageTrace) {
  const contents = trace.contents(new Set(messages.map(({ id }) => id)));
  return messages.map((message) => ({ ...message, data: contents.get(message.id) ?? null }));
}

function messageOf(parts: readonly InstancePart[], cause: Sentence): ReportedMessage {
  const head = parts.find(({ position }) => position !== null) ?? (parts[0] as InstancePart);
  const { id, position, ts, targetType, target, users, ack } = head;
  return {
    ...{ id, position, publishedAt: timeText(ts), targetType, target, users, ack, cause },
    instances: [...Map.groupBy(parts, ({ instance }) => instance)]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([instance, of]) => instanceOf(instance, of)),
  };
}

/** The workers of an instance as one. */
function instanceOf(instance: string, parts: readonly InstancePart[]) {
  const total = (field: "written" | "waiting" | "acknowledged" | "closed") =>
    parts.reduce((sum, part) => sum + part[field], 0);
  const { state, at } = parts.find((part) => part.state === "distributed") ?? (parts[0] as InstancePart);
  const closedBefore = parts.flatMap((part) => part.closedBefore ?? []).toSorted((a, b) => b.at - a.at)[0];
  const openedAfter = parts.flatMap((part) => part.openedAfter ?? []).toSorted((a, b) => a.at - b.at)[0];
  return {
    ...{ instance, state, at: timeText(at) },
    written: total("written"),
    waiting: total("waiting"),
    acknowledged: total("acknowledged"),
    closed: total("closed"),
    connections: parts
      .flatMap(({ connections }) => connections)
      .map((connection) => ({ ...connection, at: timeText(connection.at) })),
    closedBefore: closedBefore ? { ...closedBefore, at: timeText(closedBefore.at) } : null,
    openedAfter: openedAfter ? { recovered: openedAfter.recovered, at: timeText(openedAfter.at) } : null,
  };
}

function distinct(names: readonly string[]): string[] {
  return [...new Set(names)];
}

function timeText(atMs: number): string {
  return new Date(atMs).toISOString();
}
