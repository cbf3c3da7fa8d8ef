import type { Log } from "../../bus/log.ts";
import { writtenVersion } from "../../bus/record-version.ts";
import type { Clock } from "../../clock.ts";
import type { ControlMessage } from "../message/control-message.ts";
import { type EventSink, EventWriter } from "./event-writer.ts";
import { type ChannelNotice, PresenceFold } from "./presence-fold.ts";
import {
  type EventDestination,
  type PresenceChange,
  type PresenceRecord,
  type PresentName,
  readPresenceRecord,
} from "./presence-record.ts";
import {
  applyAll,
  entriesPerPart,
  type PlacedRecord,
  restoreFrom,
  slices,
  snapshotParts,
} from "./presence-snapshot.ts";

export interface PresenceParts {
  control: Log;
  /** Whether records can be appended, and those of others arrive. */
  isReady: () => boolean;
  /** Identifies this process by its start. */
  process: string;
  /** Name of the instance; several workers are one. */
  instance: string;
  node: string;
  newId: () => string;
  /** For deadlines, and the time of records. */
  steady: Clock;
  /** Take the events for other services. */
  sinks: readonly EventSink[];
  /** Whether users of the console are not reported. */
  reservesConsoleNames: boolean;
  onNotices: (notices: ChannelNotice[]) => void;
}

/** How much of the log a starting process reads. A snapshot is written more often than that. */
export const presenceWindowMs = 10 * 60_000;
export const presenceGraceMs = 5_000;
const beatMs = 5_000;
/** A process without a record for this time is evicted by the reporter; by the others if the reporter does not. */
const silentMs = 12_500;
const silentForOthersMs = 20_000;
/** After a longer time without a tick this process was suspended, and the silence of others proves nothing. */
const suspendedMs = 3_000;
const changesWithinMs = 20;
const snapshotEveryMs = 60_000;
const snapshotUnchangedEveryMs = 4 * 60_000;
/** A reporter without a snapshot after a loss takes its own state as the true one. */
const trustAfterMs = 15_000;
const endWithinMs = 5_000;
/** Larger channels get no notices: a storm of reconnects would send one frame for each pair of members. */
const maxNotifiedMembers = 1_000;

/**
 * The part of this process in the presence of the cluster: appends who comes and goes here, evicts processes that are
 * silent, and, if this process is the reporter, writes events and snapshots. Who is present follows from the log alone.
 */
export class Presence {
  readonly #parts: PresenceParts;
  readonly #fold: PresenceFold;
  readonly #writers: EventWriter[];
  /** Those connected to this process. */
  readonly #here = new Set<PresentName>();
  #joined = new Set<PresentName>();
  #left = new Set<PresentName>();
  #changesTimer: ReturnType<typeof setTimeout> | undefined;
  #hasStarted = false;
  #mustAppendList = false;
  #isEnding = false;
  readonly #ended = Promise.withResolvers<void>();
  /** Records since the start or a loss, until the state is known; null: it is known. */
  #unapplied: PlacedRecord[] | null = [];
  #lostAtMs: number | null = null;
  /** When this process read the last record of another. */
  readonly #heardAtMs = new Map<string, number>();
  #appendedAtMs = Number.NEGATIVE_INFINITY;
  #tickedAtMs: number;
  #healthySinceMs: number;
  #snapshotAtMs: number;
  #hasChangedSinceSnapshot = false;
  #isSnapshotWanted = false;
  /** Keeps the time of records from going back if another process had a clock that was ahead. */
  #aheadMs = 0;

  constructor(parts: PresenceParts) {
    this.#parts = parts;
    const { steady, sinks, reservesConsoleNames } = parts;
    const destinations = sinks.map(({ to }) => to);
    const fold = new PresenceFold({ graceMs: presenceGraceMs, destinations, reservesConsoleNames });
    this.#fold = fold;
    this.#writers = sinks.map(
      (sink) =>
        new EventWriter({
          fold,
          sink,
          isReporter: () => this.#isReporter,
          onWritten: (upTo) => this.#append({ kind: "reported", to: sink.to, upTo }),
          steady,
        }),
    );
    this.#tickedAtMs = steady.now();
    this.#healthySinceMs = steady.now();
    this.#snapshotAtMs = steady.now();
  }

  get instanceCount(): number {
    return Math.max(1, this.#fold.instanceCount);
  }

  /** The processes that take part, with the names of their instances. */
  get processes(): ReadonlyMap<string, string> {
    return this.#fold.processes;
  }

  /** Events that this process has to write and that are not known to have arrived. */
  waitingEvents(to: EventDestination): number {
    return this.#isReporter ? this.#fold.unwritten(to).length : 0;
  }

  /** Instances where a user has a normal connection. */
  instancesOf(userId: string): string[] {
    return this.#fold.instancesOf(userId);
  }

  userCount(channel = ""): number {
    return this.#fold.userCount(channel);
  }

  /** Users of all instances who are connected; with a channel, to that channel. */
  users(channel = ""): string[] {
    return this.#fold.users(channel);
  }

  /** The first connection of a name to this process was opened, or its last one closed. */
  changed(name: PresentName, isPresent: boolean): void {
    if (isPresent === this.#here.has(name)) return;
    if (isPresent) {
      this.#here.add(name);
      this.#joined.add(name);
      this.#left.delete(name);
    } else {
      this.#here.delete(name);
      // A short stay is appended too.
      this.#left.add(name);
    }
    this.#changesTimer ??= setTimeout(() => this.#appendChanges(), changesWithinMs);
  }

  receive(offset: number, message: ControlMessage & { type: "presence" }): void {
    const record = readPresenceRecord(message);
    if (!record) return;
    this.#heardAtMs.set(record.process, this.#parts.steady.now());
    const placed = { offset, id: message.id, record };
    if (this.#unapplied) {
      this.#unapplied.push(placed);
      if (this.#lostAtMs !== null && record.kind === "snapshot") this.#restore();
    } else this.#apply(placed);
    if (record.process === this.#parts.process && record.kind === "ended") this.#ended.resolve();
  }

  /** The starting read is over: the state follows from it. */
  caughtUp(): void {
    const records = this.#unapplied ?? [];
    if (!restoreFrom(records, this.#fold)) applyAll(records, this.#fold);
    this.#known();
  }

  /** Records may be missing: the next snapshot has the state. */
  lost(): void {
    this.#unapplied = [];
    this.#lostAtMs = this.#parts.steady.now();
    this.#hasStarted = false;
  }

  tick(nowMs: number): void {
    const { isReady } = this.#parts;
    if (nowMs - this.#tickedAtMs > suspendedMs || !isReady()) this.#healthySinceMs = nowMs;
    this.#tickedAtMs = nowMs;
    if (!isReady() || this.#isEnding) return;
    if (!this.#hasStarted) this.#start();
    if (this.#mustAppendList) this.#appendList();
    if (nowMs - this.#appendedAtMs >= beatMs) this.#append({ kind: "beat" });
    this.#trustOwnState(nowMs);
    if (this.#unapplied) return;
    this.#evictSilent(nowMs);
    if (!this.#isReporter) return;
    for (const writer of this.#writers) writer.write();
    this.#appendSnapshot(nowMs);
  }

  /** The last process that ends writes the last events, because no other would. */
  async leave(): Promise<void> {
    clearTimeout(this.#changesTimer);
    this.#isEnding = true;
    if (!this.#parts.isReady() || !this.#hasStarted) return;
    const finish = async () => {
      this.#append({ kind: "ended" });
      await this.#ended.promise;
      if (this.#fold.reporter === null)
        await Promise.allSettled(this.#writers.map((each) => this.#finish(each)));
    };
    const tooLong = Promise.withResolvers<void>();
    const timer = setTimeout(tooLong.resolve, endWithinMs);
    await Promise.race([finish(), tooLong.promise]);
    clearTimeout(timer);
  }

  get #isReporter(): boolean {
    return this.#fold.reporter === this.#parts.process;
  }

  async #finish(writer: EventWriter): Promise<void> {
    await writer.writeAll();
    await this.#appendRecord({ kind: "reported", to: writer.to, upTo: writer.writtenUpTo });
  }

  #apply({ offset, id, record }: PlacedRecord): void {
    this.#fold.apply(offset, id, record);
    if (record.kind === "snapshot" || record.kind === "started") this.#noteSnapshot(record);
    else if (record.kind !== "beat") this.#hasChangedSinceSnapshot = true;
    const notices = this.#fold
      .takeNotices()
      .filter(({ channel }) => this.#fold.userCount(channel) <= maxNotifiedMembers);
    if (notices.length > 0) this.#parts.onNotices(notices);
    for (const [to, count] of this.#fold.takeLeftOut())
      if (this.#isReporter) this.#parts.sinks.find((sink) => sink.to === to)?.onLeftOut(count);
    // Evicted by mistake, for example while this process was suspended.
    if (this.#hasStarted && !this.#isEnding && !this.#fold.has(this.#parts.process))
      this.#mustAppendList = true;
  }

  #noteSnapshot(record: PresenceRecord): void {
    if (record.kind === "started") this.#isSnapshotWanted = true;
    else if (record.kind === "snapshot" && record.part === record.parts - 1) {
      this.#snapshotAtMs = this.#parts.steady.now();
      this.#isSnapshotWanted = false;
      this.#hasChangedSinceSnapshot = false;
    }
  }

  #restore(): void {
    if (this.#unapplied && restoreFrom(this.#unapplied, this.#fold)) this.#known();
  }

  #known(): void {
    const { steady } = this.#parts;
    this.#unapplied = null;
    this.#lostAtMs = null;
    this.#fold.takeNotices();
    this.#aheadMs = Math.max(0, this.#fold.time - steady.now());
    for (const process of this.#fold.seen.keys())
      if (!this.#heardAtMs.has(process)) this.#heardAtMs.set(process, steady.now());
  }

  /** All processes may have lost records together. Each of them appends its list. */
  #trustOwnState(nowMs: number): void {
    if (!this.#unapplied || this.#lostAtMs === null || nowMs - this.#lostAtMs < trustAfterMs) return;
    applyAll(this.#unapplied, this.#fold);
    this.#known();
    this.#isSnapshotWanted = true;
  }

  #start(): void {
    this.#hasStarted = true;
    this.#append({ kind: "started" });
    if (this.#here.size > 0) this.#mustAppendList = true;
  }

  #appendChanges(): void {
    this.#changesTimer = undefined;
    const [joined, left] = [[...this.#joined], [...this.#left]];
    this.#joined = new Set();
    this.#left = new Set();
    if (!this.#parts.isReady() || !this.#hasStarted || this.#mustAppendList) {
      this.#mustAppendList = true;
      return;
    }
    // A name that came and left again is in both lists: the record in which it leaves is not before the other.
    const last = joined.splice(Math.floor(joined.length / entriesPerPart) * entriesPerPart);
    for (const names of slices(joined)) this.#append({ kind: "changes", joined: names, left: [] });
    this.#append({ kind: "changes", joined: last, left: left.splice(0, entriesPerPart) });
    for (const names of slices(left)) this.#append({ kind: "changes", joined: [], left: names });
  }

  #appendList(): void {
    this.#mustAppendList = false;
    const parts = this.#here.size === 0 ? [[]] : slices([...this.#here]);
    for (const [part, names] of parts.entries())
      this.#append({ kind: "list", part, parts: parts.length, names });
  }

  #evictSilent(nowMs: number): void {
    const { process: own } = this.#parts;
    const isReporter = this.#isReporter;
    for (const [process, seen] of this.#fold.seen) {
      const heardAtMs = Math.max(this.#heardAtMs.get(process) ?? nowMs, this.#healthySinceMs);
      const silent = nowMs - heardAtMs;
      const isDue = silent >= (isReporter || this.#fold.reporter === process ? silentMs : silentForOthersMs);
      if (process !== own && isDue) this.#append({ kind: "evict", evicted: process, seen });
    }
    for (const process of this.#heardAtMs.keys())
      if (!this.#fold.has(process)) this.#heardAtMs.delete(process);
  }

  #appendSnapshot(nowMs: number): void {
    const age = nowMs - this.#snapshotAtMs;
    const isDue =
      (this.#isSnapshotWanted && age >= beatMs) ||
      age >= (this.#hasChangedSinceSnapshot ? snapshotEveryMs : snapshotUnchangedEveryMs);
    if (!isDue) return;
    this.#snapshotAtMs = nowMs;
    const { offset, state } = this.#fold.snapshot();
    const parts = snapshotParts(state);
    for (const [part, each] of parts.entries())
      this.#append({ kind: "snapshot", offset, part, parts: parts.length, state: each });
  }

  /** After a refusal it is not known which changes were stored: the list says what is true. */
  #append(change: PresenceChange): void {
    this.#appendRecord(change).catch(() => {
      this.#mustAppendList = true;
    });
  }

  async #appendRecord(change: PresenceChange): Promise<void> {
    const { control, process, instance, node, newId, steady } = this.#parts;
    this.#appendedAtMs = steady.now();
    const record: PresenceRecord = {
      process,
      instance,
      at: Math.round(steady.now() + this.#aheadMs),
      ...change,
    };
    const message: ControlMessage = { v: writtenVersion, id: newId(), node, type: "presence", ...record };
    await control.append(message);
  }
}
