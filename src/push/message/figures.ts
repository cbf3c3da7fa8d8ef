import type { TargetType } from "./message.ts";

/** Plain numbers that the hot paths count in; the registry reads them when it is asked. */
export interface PushFigures {
  messages: Record<TargetType, number>;
  deliveries: number;
  /** Messages that the runtime dropped for somebody; stays 0, or the limits are wrong. */
  dropped: number;
  /** Messages on the bus that were no messages. */
  unreadable: number;
  repeated: number;
  /** Numbers in the sequence of a publisher that never arrived. */
  missing: number;
  /** Possible losses of messages on the bus while connections were open. */
  losses: number;
  clientMessages: Record<"accepted" | "ignored" | "failed", number>;
  closes: Map<string, number>;
  admissions: Map<string, number>;
  /** Largest delay of the loop since it was last read. */
  loopLagMs: number;
}

export function newFigures(): PushFigures {
  return {
    messages: { all: 0, user: 0, temp_user: 0, channel: 0 },
    deliveries: 0,
    dropped: 0,
    unreadable: 0,
    repeated: 0,
    missing: 0,
    losses: 0,
    clientMessages: { accepted: 0, ignored: 0, failed: 0 },
    closes: new Map(),
    admissions: new Map(),
    loopLagMs: 0,
  };
}

const knownCloses = new Set([
  1000, 1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009, 1011, 1012, 1013, 4003, 4004, 4102, 4201, 4301,
]);

/** Clients choose their close codes; a label for each would let them fill the registry. */
export function countClose(figures: PushFigures, code: number): void {
  const label = knownCloses.has(code) ? String(code) : "other";
  figures.closes.set(label, (figures.closes.get(label) ?? 0) + 1);
}

export function countAdmission(figures: PushFigures, result: string): void {
  figures.admissions.set(result, (figures.admissions.get(result) ?? 0) + 1);
}
