import { isConsoleUser } from "../../model/console/console-names.ts";
import {
  type EventDestination,
  type PresenceRecord,
  type PresenceReport,
  type PresentName,
  presentName,
  readPresentName,
  type SnapshotPart,
  type SnapshotProcess,
} from "./presence-record.ts";
import { UnwrittenEvents } from "./unwritten-events.ts";

/** A process that takes part. */
interface Process {
  instance: string;
  /** Offset of its first record. The process with the lowest one writes the events. */
  since: number;
  /** Offset of its last record. */
  seen: number;
  names: Set<PresentName>;
  /** Parts of a list that is not complete. */
  listParts: PresentName[][];
}

/** A name without a connection, within its grace. */
interface Leaving {
  since: number;
  cause: string;
}

/** Somebody came to a channel or left it. */
export interface ChannelNotice {
  type: "joined" | "left";
  channel: string;
  userId: string;
}

export interface PresenceFoldOptions {
  /** A user who returns within this time was not away. */
  graceMs: number;
  /** Where events go. */
  destinations: readonly EventDestination[];
  /** Whether users of the console are not reported. */
  reservesConsoleNames: boolean;
}

/**
 * Who is present, as a pure function of the records of the log: every instance that reads the same records has the same
 * state and the same events. It uses no clock but the times of the records, which never go back.
 */
export class PresenceFold {
  readonly #options: PresenceFoldOptions;
  #processes = new Map<string, Process>();
  /** How many processes a name is connected to. */
  #counts = new Map<PresentName, number>();
  /** In the order of time. */
  #leaving = new Map<PresentName, Leaving>();
  #members = new Map<string, Set<string>>();
  readonly #events: UnwrittenEvents;
  #notices: ChannelNotice[] = [];
  #time = 0;
  #offset = -1;

  constructor(options: PresenceFoldOptions) {
    this.#options = options;
    this.#events = new UnwrittenEvents(options.destinations);
  }

  /** The time of the newest record. */
  get time(): number {
    return this.#time;
  }

  /** Events that are not known to be written. */
  unwritten(to: EventDestination): PresenceReport[] {
    return this.#events.of(to);
  }

  /** How many events were left out since the last call, because too many waited. */
  takeLeftOut(): Map<EventDestination, number> {
    return this.#events.takeLeftOut();
  }

  /** Offsets of the last records of all processes that take part. */
  get seen(): Map<string, number> {
    return new Map([...this.#processes].map(([process, { seen }]) => [process, seen]));
  }

  /** The processes that take part, with the names of their instances. */
  get processes(): Map<string, string> {
    return new Map([...this.#processes].map(([process, { instance }]) => [process, instance]));
  }

  get instanceCount(): number {
    return new Set(this.processes.values()).size;
  }

  /** The process that writes the events; null: there is none. */
  get reporter(): string | null {
    let found: [process: string, since: number] | null = null;
    for (const [process, { since }] of this.#processes)
      if (since < (found?.[1] ?? Number.POSITIVE_INFINITY)) found = [process, since];
    return found?.[0] ?? null;
  }

  /** Instances where a user has a normal connection. */
  instancesOf(userId: string): string[] {
    const name = presentName("", userId);
    if (!this.#counts.has(name)) return [];
    const found = [...this.#processes.values()].filter(({ names }) => names.has(name));
    return [...new Set(found.map(({ instance }) => instance))];
  }

  /** Users connected to a channel; with an empty name, to the gateway. */
  users(channel = ""): string[] {
    return [...(this.#members.get(channel) ?? [])];
  }

  userCount(channel = ""): number {
    return this.#members.get(channel)?.size ?? 0;
  }

  /** False: the process has not started, has ended, or was evicted and must append its list to take part again. */
  has(process: string): boolean {
    return this.#processes.has(process);
  }

  takeNotices(): ChannelNotice[] {
    const notices = this.#notices;
    this.#notices = [];
    return notices;
  }

  apply(offset: number, id: string, record: PresenceRecord): void {
    if (offset <= this.#offset) this.#beginAgain(offset);
    this.#offset = offset;
    this.#time = Math.max(this.#time, record.at);
    this.#endGrace((leaving) => this.#time - leaving.since >= this.#options.graceMs);
    const known = this.#processes.get(record.process);
    if (known) known.seen = offset;
    switch (record.kind) {
      case "started":
        this.#remove(record.process, id);
        this.#add(record, offset);
        break;
      case "ended":
        this.#remove(record.process, id);
        break;
      case "changes":
        if (known) this.#change(known, record, id);
        break;
      case "list":
        this.#takePart(record, offset, id);
        break;
      case "evict":
        this.#evict(record, id);
        break;
      case "reported":
        this.#events.reported(record.to, record.upTo);
        break;
    }
    // Nobody is left to wait for the end of a grace.
    if (this.reporter === null) this.#endGrace(() => true);
  }

  /** The state, for those who read the log from a later record. */
  snapshot(): { offset: number; state: SnapshotPart } {
    const processes = [...this.#processes].map(
      ([process, { instance, since, seen, names }]): SnapshotProcess => ({
        ...{ process, instance, since, seen },
        names: [...names],
      }),
    );
    const leaving = [...this.#leaving].map(([name, { since, cause }]): SnapshotPart["leaving"][number] => [
      name,
      since,
      cause,
    ]);
    return {
      offset: this.#offset,
      state: { processes, leaving, ...this.#events.snapshot(), time: this.time },
    };
  }

  /** Replaces the state by that of a snapshot. */
  restore(offset: number, { processes, leaving, unwritten, time, reportedUpTo }: SnapshotPart): void {
    this.#offset = offset;
    this.#time = time;
    this.#events.restore(unwritten, reportedUpTo);
    this.#counts = new Map();
    this.#members = new Map();
    this.#leaving = new Map();
    this.#processes = new Map();
    for (const { process, names, ...rest } of processes) {
      const known = this.#processes.get(process);
      const restored = known ?? { ...rest, names: new Set(), listParts: [] };
      this.#processes.set(process, restored);
      for (const name of names) {
        restored.names.add(name);
        this.#count(name, 1);
      }
    }
    for (const [name, since, cause] of leaving) this.#leaving.set(name, { since, cause });
    this.#notices = [];
  }

  /** The log was created again, and its offsets began anew: what is known comes before them. */
  #beginAgain(offset: number): void {
    this.#events.beginAgain(offset - 1);
    for (const process of this.#processes.values()) {
      process.since = offset - 1;
      process.seen = offset - 1;
    }
  }

  #add({ process, instance }: PresenceRecord, offset: number): Process {
    const added = {
      instance,
      since: offset,
      seen: offset,
      names: new Set<PresentName>(),
      listParts: [],
    };
    this.#processes.set(process, added);
    return added;
  }

  #remove(process: string, cause: string): void {
    const known = this.#processes.get(process);
    if (!known) return;
    this.#processes.delete(process);
    for (const name of known.names) this.#leave(name, cause);
  }

  /** The last part of a list replaces what is known of the process. One that was evicted takes part again, as the newest. */
  #takePart(record: Extract<PresenceRecord, { kind: "list" }>, offset: number, cause: string): void {
    const { part, parts } = record;
    const process = this.#processes.get(record.process) ?? (part === 0 ? this.#add(record, offset) : null);
    if (!process) return;
    if (part === 0) process.listParts = [];
    if (part !== process.listParts.length) return;
    process.listParts.push(record.names);
    if (process.listParts.length < parts) return;
    const names = new Set(process.listParts.flat());
    process.listParts = [];
    const joined = [...names].filter((name) => !process.names.has(name));
    const left = [...process.names].filter((name) => !names.has(name));
    this.#change(process, { joined, left }, cause);
  }

  /** Ignored if the process appended a record after the one that its evictor had read last. */
  #evict({ evicted, seen }: Extract<PresenceRecord, { kind: "evict" }>, cause: string): void {
    const process = this.#processes.get(evicted);
    if (process && process.seen <= seen) this.#remove(evicted, cause);
  }

  #change(process: Process, { joined, left }: { joined: PresentName[]; left: PresentName[] }, cause: string) {
    for (const name of joined) {
      if (process.names.has(name)) continue;
      process.names.add(name);
      this.#join(name, cause);
    }
    for (const name of left) if (process.names.delete(name)) this.#leave(name, cause);
  }

  #join(name: PresentName, cause: string): void {
    // Within its grace it was not reported as gone.
    if (this.#count(name, 1) === 1 && !this.#leaving.delete(name)) this.#report("online", name, cause);
  }

  #leave(name: PresentName, cause: string): void {
    if (this.#count(name, -1) === 0) this.#leaving.set(name, { since: this.#time, cause });
  }

  /** Returns to how many processes the name is connected now. */
  #count(name: PresentName, change: 1 | -1): number {
    const count = (this.#counts.get(name) ?? 0) + change;
    if (count === 0) {
      this.#counts.delete(name);
      this.#removeMember(name);
    } else {
      this.#counts.set(name, count);
      if (count === 1 && change === 1) this.#addMember(name);
    }
    return count;
  }

  /** Names leave in the order of time, so that the first one that stays ends the search. */
  #endGrace(isOver: (leaving: Leaving) => boolean): void {
    for (const [name, leaving] of this.#leaving) {
      if (!isOver(leaving)) return;
      this.#leaving.delete(name);
      this.#report("offline", name, leaving.cause);
    }
  }

  #addMember(name: PresentName): void {
    const { channel, userId } = readPresentName(name);
    if (userId === "") return;
    const members = this.#members.get(channel);
    if (members) members.add(userId);
    else this.#members.set(channel, new Set([userId]));
  }

  #removeMember(name: PresentName): void {
    const { channel, userId } = readPresentName(name);
    const members = this.#members.get(channel);
    members?.delete(userId);
    if (members?.size === 0) this.#members.delete(channel);
  }

  /** Every change is an event for other services; of users in channels, also a notice to the members. */
  #report(type: PresenceReport["type"], name: PresentName, cause: string): void {
    const { channel, userId } = readPresentName(name);
    if (channel !== "" && userId !== "")
      this.#notices.push({ type: type === "online" ? "joined" : "left", channel, userId });
    if (this.#options.reservesConsoleNames && isConsoleUser(userId)) return;
    this.#events.add({ type, channel, userId, cause, offset: this.#offset, at: this.#time });
  }
}
