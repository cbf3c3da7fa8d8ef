import type { TargetType } from "../../src/push/message/message.ts";

/** A connection of a load: it receives `all`, its user, its channel, and `temp_user` if it is temporary. */
export interface LoadConnection {
  url: string;
  userId: string;
  channel: string;
  isTemporary: boolean;
  /** Speaks `slipway.v1`, and resumes after each lost connection. Absent: a raw connection. */
  resumes?: boolean;
}

/** A message of a load. Numbers increase within a target in the order of publishing. */
export interface LoadMessage {
  number: number;
  targetType: TargetType;
  target: string;
}

export interface Reconciliation {
  deliveries: number;
  missing: number;
  doubled: number;
  misordered: number;
  /** Messages that a connection received although it was not a recipient. */
  strayed: number;
  /** Examples of violations, as text. */
  examples: string[];
}

export type LoadRequest =
  | { type: "open"; connections: LoadConnection[] }
  | { type: "counts" }
  /** Call before the next load: forgets the messages of the last one. */
  | { type: "forget" }
  /** Confirmed messages must have arrived, once and in order; refused ones may have. */
  | { type: "reconcile"; confirmed: LoadMessage[]; refused: LoadMessage[] };

export interface LoadCounts {
  open: number;
  closed: number;
  received: number;
  /** Resumed connections, and those among them that may have missed messages. */
  resumed: number;
  unrecovered: number;
}

export function dataOf(number: number): string {
  return `load:${number}`;
}

export function numberOf(data: string): number | undefined {
  return data.startsWith("load:") ? Number(data.slice("load:".length)) : undefined;
}

export function isFor(connection: LoadConnection, { targetType, target }: LoadMessage): boolean {
  if (targetType === "all") return true;
  if (targetType === "channel") return connection.channel === target;
  if (connection.userId !== target) return false;
  return targetType === "user" || connection.isTemporary;
}

/** Compares the received messages of each connection with the expected ones. */
export function reconcile(
  received: { connection: LoadConnection; numbers: number[] }[],
  confirmed: LoadMessage[],
  refused: LoadMessage[],
): Reconciliation {
  const result: Reconciliation = {
    deliveries: 0,
    missing: 0,
    doubled: 0,
    misordered: 0,
    strayed: 0,
    examples: [],
  };
  const byNumber = new Map([...confirmed, ...refused].map((message) => [message.number, message]));
  const isConfirmed = new Set(confirmed.map(({ number }) => number));
  const byTarget = Map.groupBy(confirmed, keyOf);
  for (const { connection, numbers } of received) {
    const seen = new Set<number>();
    const lastOfTarget = new Map<string, number>();
    const wrong = (kind: "missing" | "doubled" | "misordered" | "strayed", number: number) => {
      result[kind] += 1;
      const message = byNumber.get(number);
      if (result.examples.length < 10)
        result.examples.push(
          `${kind}: ${number} to ${message?.targetType}:${message?.target} at ${connection.userId} on ${connection.url}`,
        );
    };
    for (const number of numbers) {
      const message = byNumber.get(number);
      if (seen.has(number)) wrong("doubled", number);
      seen.add(number);
      result.deliveries += 1;
      if (!message || !isFor(connection, message)) wrong("strayed", number);
      else if (isConfirmed.has(number)) {
        const key = keyOf(message);
        if ((lastOfTarget.get(key) ?? -1) > number) wrong("misordered", number);
        lastOfTarget.set(key, number);
      }
    }
    for (const key of keysHeardBy(connection))
      for (const { number } of byTarget.get(key) ?? []) if (!seen.has(number)) wrong("missing", number);
  }
  return result;
}

function keyOf({ targetType, target }: LoadMessage): string {
  return `${targetType}:${target}`;
}

function keysHeardBy({ userId, channel, isTemporary }: LoadConnection): string[] {
  const keys = ["all:", `user:${userId}`, `channel:${channel}`];
  return isTemporary ? [...keys, `temp_user:${userId}`] : keys;
}
