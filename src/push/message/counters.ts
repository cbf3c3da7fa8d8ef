import type { TargetType } from "./message.ts";

/** Plain numbers, because hot paths increment them; the metrics registry reads them for each scrape. */
export function newPushCounters() {
  return {
    messages: { all: 0, user: 0, temp_user: 0, channel: 0 } satisfies Record<TargetType, number>,
    /** Those of `messages` that are for the console. */
    consoleMessages: 0,
    deliveries: 0,
    /** Messages that the runtime dropped for a connection; above 0, our own send limits are wrong. */
    dropped: 0,
    /** Records of the logs that are not valid messages. */
    unreadable: 0,
    /** Records of instances of a later version. */
    later: 0,
    repeated: 0,
    /** Times that messages may have been lost while connections were open. */
    losses: 0,
    clientMessages: { accepted: 0, ignored: 0, failed: 0 },
    closes: new Map<string, number>(),
    admissions: new Map<string, number>(),
    /** Largest delay of the event loop since the last scrape. */
    loopLagMs: 0,
  };
}
export type PushCounters = ReturnType<typeof newPushCounters>;

/** Messages of applications: without those for the console. */
export function publishedOf({ messages, consoleMessages }: PushCounters): number {
  return Object.values(messages).reduce((sum, count) => sum + count, -consoleMessages);
}

const knownCloses = new Set([
  1000, 1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009, 1011, 1012, 1013, 4003, 4004, 4005, 4102, 4201, 4301,
]);

/** Clients choose close codes freely. Unknown codes share one label, so that clients cannot fill the registry. */
export function countClose(counters: PushCounters, code: number): void {
  const label = knownCloses.has(code) ? String(code) : "other";
  counters.closes.set(label, (counters.closes.get(label) ?? 0) + 1);
}

export function countAdmission(counters: PushCounters, result: string): void {
  counters.admissions.set(result, (counters.admissions.get(result) ?? 0) + 1);
}
