import type { Command } from "commander";
import { print, visible } from "../output.ts";
import { feignRemote, type RemoteOptions, withApiKey } from "./remote.ts";

interface Trace {
  messages: {
    id: string;
    publishedAt: string;
    targetType: string;
    target: string;
    why: string;
    instances: {
      instance: string;
      state: string;
      written: number;
      waiting: number;
      acknowledged: number;
      closed: number;
    }[];
  }[];
  /** Absent: the gateway is of version 1.0. */
  refusedTokens?: { instance: string; at: string; isSigned: boolean; why: string }[];
  /** Absent: the gateway is of version 1.0. */
  user?: {
    connections: {
      connectionId: string;
      kind: string;
      protocol: string;
      instance: string;
      openedAt: string;
    }[];
    lastClosed: { closeCode: number; at: string } | null;
    since: string;
  };
  connectedLike: string[];
  addressedLike: string[];
  since: string | null;
  missing: string[];
}

/** `push trace`: what became of the last messages to a user, on all instances. `command` is `push`. */
export function addTraceCommand(command: Command): void {
  withApiKey(command.command("trace <userId>"))
    .description("why a user did or did not get the last messages, on all instances")
    .addHelpText("after", "\nExample: slipway push trace 42")
    .action(async (userId: string, options: RemoteOptions) => {
      const path = `/feign/messages?user=${encodeURIComponent(userId)}`;
      const { data } = await feignRemote(options).get<{ data: Trace }>(path);
      print(options, data, () => linesOf(userId, data).join("\n"));
    });
}

function linesOf(
  userId: string,
  { messages, refusedTokens = [], user, connectedLike, addressedLike, since, missing }: Trace,
): string[] {
  const lines = user === undefined ? [] : userLines(userId, user);
  for (const { id, publishedAt, targetType, target, why, instances } of messages)
    lines.push(
      `${visible(publishedAt)} ${visible([targetType, target].join(" ").trim())} ${visible(id)}`,
      `  ${visible(why)}`,
      ...instances.map(
        ({ instance, state, written, waiting, acknowledged, closed }) =>
          `  ${visible(instance)}: ${visible(state)}, ${written} written, ${waiting} waiting, ${acknowledged} acknowledged, ${closed} closed`,
      ),
    );
  const isNoneForUser = messages.every(({ targetType }) => targetType === "all");
  if (isNoneForUser) lines.push(`No message to the user “${visible(userId)}” is known.`);
  for (const { instance, at, isSigned, why } of refusedTokens) {
    const named = isSigned ? "" : " with a wrong signature, so that anybody can have named the user";
    lines.push(`${visible(at)} ${visible(instance)} refused a JWT${named}: ${visible(why)}`);
  }
  if (since !== null) lines.push(`All messages since ${visible(since)} are known.`);
  if (addressedLike.length > 0) lines.push(`There are messages to similar user ids: ${list(addressedLike)}.`);
  if (connectedLike.length > 0) lines.push(`Similar user ids are connected: ${list(connectedLike)}.`);
  if (missing.length > 0) lines.push(`No answer in time from ${list(missing)}.`);
  return lines;
}

function userLines(userId: string, { connections, lastClosed, since }: NonNullable<Trace["user"]>): string[] {
  const name = visible(userId);
  if (connections.length > 0)
    return connections.map(
      ({ connectionId, kind, protocol, instance, openedAt }) =>
        `${name} is connected to ${visible(instance)}: ${visible(connectionId)} (${visible(kind)}, ${visible(protocol)}) since ${visible(openedAt)}.`,
    );
  if (lastClosed !== null)
    return [`${name} is offline since ${visible(lastClosed.at)} (close code ${lastClosed.closeCode}).`];
  return [
    `${name} is offline, and had no connection since ${visible(since)}; earlier ones are not remembered.`,
  ];
}

function list(names: readonly string[]): string {
  return names.map(visible).join(", ");
}
