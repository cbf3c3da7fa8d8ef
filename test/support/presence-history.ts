import fc from "fast-check";
import { PresenceFold, type PresenceFoldOptions } from "../../src/push/presence/presence-fold.ts";
import {
  type PresenceChange,
  type PresenceRecord,
  type PresenceReport,
  presentName,
} from "../../src/push/presence/presence-record.ts";
import { snapshotParts } from "../../src/push/presence/presence-snapshot.ts";

export const graceMs = 5_000;
export const foldOptions: PresenceFoldOptions = {
  graceMs,
  destinations: ["queue"],
  reservesConsoleNames: true,
};
export const user = (userId: string) => presentName("", userId);

/** The log that all instances read, and a fold that reads everything. */
export class PresenceLog {
  readonly records: { offset: number; id: string; record: PresenceRecord }[] = [];
  readonly fold = new PresenceFold(foldOptions);
  readonly reports: PresenceReport[] = [];
  now = 1_000_000;

  append(process: string, change: PresenceChange): number {
    const offset = this.records.length;
    const record: PresenceRecord = { process, instance: process, at: this.now, ...change };
    this.records.push({ offset, id: `r${offset}`, record });
    this.fold.apply(offset, `r${offset}`, record);
    this.reports.push(...this.fold.unwritten("queue").filter((report) => report.offset === offset));
    return offset;
  }
}

/** One step of a history. Processes and users are chosen by number; the weights make all of them meet. */
const weights = {
  start: 6,
  join: 8,
  leave: 6,
  wait: 5,
  evict: 4,
  see: 4,
  snapshot: 3,
  kill: 2,
  end: 2,
  suspend: 2,
  lose: 2,
  list: 1,
  beat: 2,
  repeat: 1,
  report: 3,
};
type Action = keyof typeof weights;
export const historyStep = fc.record({
  do: fc.oneof(
    ...(Object.entries(weights) as [Action, number][]).map(([action, weight]) => ({
      weight,
      arbitrary: fc.constant(action),
    })),
  ),
  process: fc.nat(2),
  user: fc.nat(2),
});
type Step = { do: Action; process: number; user: number };
/** Clocks of processes differ by up to this. */
const skewMs = [0, 700, -2_000];

/** A process as it really is, beside what it appends. */
interface Actual {
  name: string;
  users: Set<string>;
  isRunning: boolean;
  /** What happens to it does not reach the log until it says who is connected. */
  isUnheard: boolean;
  skewMs: number;
}

/** Plays a history: processes append what happens to them; nothing else is known to the fold. */
export class History {
  readonly log = new PresenceLog();
  readonly slots: (Actual | null)[] = [null, null, null];
  /** Offsets that another process has read of a process, for evictions that come late. */
  readonly seen = new Map<string, number>();
  readonly written: PresenceReport[] = [];
  #starts = 0;

  play(steps: Step[]): void {
    for (const each of steps) this.#play(each);
  }

  /** Processes that still run say everything that is true, dead ones are evicted, and the grace passes. */
  settle(): void {
    if (this.slots.every((slot) => !slot?.isRunning)) this.#start(0);
    const observer = this.slots.find((slot) => slot?.isRunning);
    if (!observer) return;
    for (const [process, seen] of this.log.fold.seen) {
      const isRunning = this.slots.some((slot) => slot?.isRunning && slot.name === process);
      if (!isRunning) this.log.append(observer.name, { kind: "evict", evicted: process, seen });
    }
    for (const slot of this.slots) if (slot?.isRunning) this.#list(slot);
    this.log.now += graceMs + 3_000;
    this.log.append(observer.name, { kind: "beat" });
  }

  get online(): Set<string> {
    return new Set(this.slots.flatMap((slot) => (slot?.isRunning ? [...slot.users] : [])));
  }

  #play({ do: action, process, user: number }: Step): void {
    const slot = this.slots[process];
    if (action === "wait") this.log.now += [1, 4_999, 5_000][number] ?? 0;
    else if (action === "start") this.#start(process);
    else if (slot?.isRunning) this.#act(slot, action, process, `u${number}`);
  }

  #start(process: number): void {
    if (this.slots[process]?.isRunning) return;
    const name = `p${++this.#starts}`;
    const slot = { name, users: new Set<string>(), isRunning: true, isUnheard: false };
    this.slots[process] = { ...slot, skewMs: skewMs[process] ?? 0 };
    this.#append(this.slots[process], { kind: "started" });
  }

  #append(slot: Actual, change: PresenceChange): void {
    const { now } = this.log;
    this.log.now = now + slot.skewMs;
    this.log.append(slot.name, change);
    this.log.now = now;
  }

  #act(slot: Actual, action: Action, process: number, userId: string): void {
    const { users } = slot;
    const { log } = this;
    switch (action) {
      case "join":
        if (users.has(userId)) return;
        users.add(userId);
        if (!slot.isUnheard) this.#append(slot, { kind: "changes", joined: [user(userId)], left: [] });
        break;
      case "leave":
        if (!users.delete(userId) || slot.isUnheard) return;
        this.#append(slot, { kind: "changes", joined: [], left: [user(userId)] });
        break;
      case "end":
        slot.isRunning = false;
        this.#append(slot, { kind: "ended" });
        break;
      case "kill":
        slot.isRunning = false;
        break;
      case "suspend":
        slot.isUnheard = true;
        break;
      case "lose":
        // After it may have missed records, a process starts again under its name.
        this.#append(slot, { kind: "started" });
        this.#list(slot);
        break;
      case "beat":
        if (!slot.isUnheard) this.#append(slot, { kind: "beat" });
        break;
      case "list":
        this.#list(slot);
        break;
      case "see":
        for (const [other, seen] of log.fold.seen) this.seen.set(other, seen);
        break;
      case "evict":
        this.#evict(slot, process);
        break;
      case "report":
        this.#report(slot);
        break;
      case "snapshot":
        this.#snapshot(slot);
        break;
      case "repeat":
        if (!slot.isUnheard) this.#append(slot, { kind: "changes", joined: [...users].map(user), left: [] });
        break;
    }
  }

  #list(slot: Actual): void {
    slot.isUnheard = false;
    this.#append(slot, { kind: "list", part: 0, parts: 1, names: [...slot.users].map(user) });
  }

  /** With what this process saw last, which may be long ago. */
  #evict(slot: Actual, process: number): void {
    const target = this.slots[(process + 1) % 3];
    const seen = target ? this.seen.get(target.name) : undefined;
    if (target && seen !== undefined) this.#append(slot, { kind: "evict", evicted: target.name, seen });
    // A process that is evicted although it runs reads that, and says who is connected to it.
    if (target?.isRunning && !target.isUnheard && !this.log.fold.has(target.name)) this.#list(target);
  }

  /** Any process may believe to be the reporter; what it writes may be written again by the next. */
  #report(slot: Actual): void {
    const unwritten = this.log.fold.unwritten("queue");
    const part = unwritten.slice(0, 2).filter((report) => report.offset === unwritten[0]?.offset);
    this.written.push(...part);
    const last = part.at(-1);
    const isWhole = unwritten.filter(({ offset }) => offset === last?.offset).length === part.length;
    if (last && isWhole) this.#append(slot, { kind: "reported", to: "queue", upTo: last.offset });
  }

  #snapshot(slot: Actual): void {
    const { offset, state } = this.log.fold.snapshot();
    const parts = snapshotParts(structuredClone(state));
    for (const [part, each] of parts.entries())
      this.#append(slot, { kind: "snapshot", offset, part, parts: parts.length, state: each });
  }
}
