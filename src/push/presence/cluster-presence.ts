import type { Bus } from "../../bus/bus.ts";
import type { Clock } from "../../clock.ts";
import type { ControlMessage, PresenceEvent } from "../message/message.ts";
import { ClusterView, digestOf, type NodeView } from "./cluster-view.ts";
import { type PresenceNote, readPresenceNote } from "./presence-note.ts";
import { endInTime, Reporter } from "./reporter.ts";

export interface ClusterPresenceParts {
  bus: Bus;
  node: string;
  boot: string;
  newId: () => string;
  isOnlineHere: (userId: string) => boolean;
  /** For people and for the order of instances. */
  clock: Clock;
  /** For deadlines. */
  steady: Clock;
  beatMs: number;
  graceMs: number;
  tell: (type: PresenceEvent["type"], userId: string, occasion: number) => Promise<void>;
  onEventsLost: () => void;
}

export const presenceBeatMs = 5_000;
/** Heard for the last time before it died, an instance is gone within three beats of its death. */
const beatsUntilDead = 2.5;
const usersPerPart = 2_000;
/** A further instance answers only when the one before it did not answer within this time. */
const answerEveryMs = 1_000;

type Announced = PresenceNote extends infer Note
  ? Note extends PresenceNote
    ? Omit<Note, "boot" | "startedAt" | "mayTell" | "announces">
    : never
  : never;

/**
 * Who is online on any instance. Each instance announces its changes and, every beat, a digest of its list; an instance
 * that sees a difference asks for the whole list. The oldest instance that knows all reports informs other services who
 * came and went.
 */
export class ClusterPresence {
  readonly #parts: ClusterPresenceParts;
  readonly #view: ClusterView;
  readonly #own: NodeView;
  readonly #reporter: Reporter;
  #joined = new Set<string>();
  #left = new Set<string>();
  #owesList = true;
  #lastBeatMs = Number.NEGATIVE_INFINITY;
  #lastTickMs: number;
  #askedAtMs = new Map<string, number>();
  #askedAllAtMs = Number.NEGATIVE_INFINITY;
  /** When to send the state of all reports, unless another instance has sent it before; null: nobody asked. */
  #owesStateAtMs: number | null = null;
  /** The number of parts of a state that have arrived, by sender. */
  readonly #stateParts = new Map<string, number>();
  #wasReady = false;
  /** Since when this instance hears what is sent, and so would hear others; null: it may have missed reports since. */
  #hearsSinceMs: number | null = null;

  constructor(parts: ClusterPresenceParts) {
    const { steady, node, boot, clock } = parts;
    this.#parts = parts;
    this.#lastTickMs = steady.now();
    this.#view = new ClusterView({
      appeared: (userId) => this.#reporter.appeared(userId),
      vanished: (userId) => this.#reporter.vanished(userId),
    });
    this.#reporter = new Reporter({
      isOnline: (userId) => this.#view.has(userId),
      tell: parts.tell,
      announce: (lists) => this.#publish({ kind: "reports", ...lists }),
      clock,
      steady,
      graceMs: parts.graceMs,
      retryMs: parts.beatMs,
    });
    const own = this.#view.nodeOf(node, { boot, startedAt: clock.now() });
    if (!own) throw new Error("A new view knows no other start of this instance.");
    this.#own = own;
  }

  get nodeCount(): number {
    return this.#view.nodes.size;
  }

  get userCount(): number {
    return this.#view.userCount;
  }

  onlineUsers(): string[] {
    return this.#view.users();
  }

  /** A normal connection of the user was opened here. */
  opened(userId: string): void {
    if (this.#own.users.has(userId)) return;
    this.#view.enter(this.#own, userId);
    if (!this.#left.delete(userId)) this.#joined.add(userId);
  }

  /** A normal connection of the user was closed here. */
  closed(userId: string): void {
    if (!this.#own.users.has(userId) || this.#parts.isOnlineHere(userId)) return;
    this.#view.leave(this.#own, userId);
    // A short stay is announced too, so that other instances report its end if this one loses the broker first.
    this.#left.add(userId);
  }

  /** Notes of other instances may have been lost. */
  lost(): void {
    this.#doubt();
  }

  heard(message: ControlMessage & { type: "presence" }): void {
    const note = readPresenceNote(message);
    if (!note) return;
    const isOwn = message.node === this.#parts.node;
    if (note.kind === "reports") this.#reporter.heard(note, isOwn);
    if (isOwn) {
      if (note.kind === "ask") this.#hearsSinceMs ??= this.#parts.steady.now();
      if (note.kind === "reports" && this.#speaker() === this.#own) this.#reporter.flush();
      return;
    }
    if (note.kind === "bye") {
      if (this.#view.nodes.get(message.node)?.boot === note.boot) this.#view.drop(message.node);
      return;
    }
    const view = this.#view.nodeOf(message.node, note);
    if (!view) return;
    view.heardAtMs = this.#parts.steady.now();
    view.mayTell = note.mayTell !== false;
    view.announces = note.announces === true;
    if (note.kind === "ask") this.#asked(message.node, note.of);
    else if (note.kind === "state") this.#heardState(message.node, note);
    else if (note.kind !== "reports") this.#view.apply(view, note);
  }

  tick(nowMs: number): void {
    const { bus, beatMs } = this.#parts;
    const isReady = bus.state().ready;
    // While the queue was away, or this process asleep, nobody could be heard: that is no sign of death.
    if (!isReady || !this.#wasReady || nowMs - this.#lastTickMs > beatMs) {
      this.#hearAll(nowMs);
      if (isReady) this.#doubt();
      else this.#own.mayTell = false;
    }
    this.#lastTickMs = nowMs;
    this.#wasReady = isReady;
    this.#reporter.tick(nowMs);
    if (!isReady) return;
    this.#announce(nowMs);
    this.#evictDeadInstances(nowMs);
    this.#ask(nowMs);
    this.#report(nowMs);
  }

  /** Ends in order: the others need not wait to evict this instance; the last one reports that nobody is left. */
  async leave(): Promise<void> {
    const { bus, onEventsLost } = this.#parts;
    if (bus.state().ready) await endInTime(this.#finish(), onEventsLost);
  }

  async #finish(): Promise<void> {
    const others = [...this.#view.nodes.values()].filter((view) => view !== this.#own);
    // Instances that started a moment ago would never learn what was reported.
    if (others.some(({ mayTell }) => !mayTell)) await this.#sayState().catch(() => {});
    const wasLast = others.length === 0 && this.#own.mayTell;
    await this.#publish({ kind: "bye" }).catch(() => {});
    // Another instance may have appeared meanwhile.
    if (wasLast && this.nodeCount === 1 && this.#own.mayTell) await this.#reporter.end();
  }

  #hearAll(nowMs: number): void {
    for (const view of this.#view.nodes.values()) view.heardAtMs = nowMs;
  }

  /** Reports nothing until another instance has sent the state of all reports, or there is none that could. */
  #doubt(): void {
    this.#reporter.reports.doubtAll();
    this.#own.mayTell = false;
    this.#hearsSinceMs = null;
    this.#askedAllAtMs = Number.NEGATIVE_INFINITY;
  }

  #announce(nowMs: number): void {
    const own = this.#own;
    const hasChanged = this.#joined.size > 0 || this.#left.size > 0;
    if (hasChanged) {
      own.n += 1;
      const [joined, left] = [[...this.#joined], [...this.#left]];
      this.#joined.clear();
      this.#left.clear();
      // In a list that is sent anyway the changes are contained.
      if (joined.length + left.length > usersPerPart) this.#owesList = true;
      if (!this.#owesList) this.#say({ kind: "delta", n: own.n, digest: digestOf(own), joined, left });
    }
    if (this.#owesList) this.#sayList();
    else if (!hasChanged && nowMs - this.#lastBeatMs < this.#parts.beatMs) return;
    else if (!hasChanged) this.#say({ kind: "beat", n: own.n, digest: digestOf(own) });
    this.#lastBeatMs = nowMs;
  }

  #sayList(): void {
    this.#owesList = false;
    const own = this.#own;
    for (const { part, ...place } of partsOf([...own.users]))
      this.#say({ kind: "part", n: own.n, digest: digestOf(own), ...place, users: part });
  }

  async #sayState(): Promise<void> {
    this.#owesStateAtMs = null;
    const { reports } = this.#reporter;
    const { highest } = reports;
    const sent = partsOf(reports.stateUsers()).map(({ part, ...place }) =>
      this.#publish({ kind: "state", ...place, highest, ...reports.listsOf(part) }),
    );
    await Promise.all(sent);
  }

  #asked(by: string, of: string | null): void {
    if (of !== null && of !== this.#parts.node) return;
    this.#owesList = true;
    if (of !== null || this.#owesStateAtMs !== null) return;
    const older = [...this.#view.nodes].filter(
      ([node, view]) => node !== by && view.mayTell && view !== this.#own && this.#isOlder(node, view),
    );
    this.#owesStateAtMs = this.#parts.steady.now() + older.length * answerEveryMs;
  }

  #heardState(node: string, note: Extract<PresenceNote, { kind: "state" }>): void {
    this.#reporter.heard(note, false);
    const before = note.index === 0 ? 0 : (this.#stateParts.get(node) ?? -1);
    if (before !== note.index) return;
    this.#stateParts.set(node, before + 1);
    if (note.index + 1 < note.parts) return;
    this.#stateParts.delete(node);
    if (note.mayTell === false) return;
    this.#owesStateAtMs = null;
    if (this.#own.mayTell) return;
    this.#reporter.settle(note.highest);
    this.#own.mayTell = this.#parts.bus.state().ready;
  }

  #evictDeadInstances(nowMs: number): void {
    for (const [node, view] of this.#view.nodes) {
      if (view === this.#own || nowMs - view.heardAtMs <= beatsUntilDead * this.#parts.beatMs) continue;
      this.#view.drop(node);
      this.#stateParts.delete(node);
    }
  }

  #ask(nowMs: number): void {
    const { beatMs } = this.#parts;
    if (!this.#own.mayTell && nowMs - this.#askedAllAtMs >= beatMs) {
      this.#askedAllAtMs = nowMs;
      this.#say({ kind: "ask", of: null });
    }
    for (const [node, view] of this.#view.nodes) {
      if (!view.isStale || view === this.#own) continue;
      if (nowMs - (this.#askedAtMs.get(node) ?? Number.NEGATIVE_INFINITY) < beatMs) continue;
      this.#askedAtMs.set(node, nowMs);
      this.#say({ kind: "ask", of: node });
    }
    for (const node of this.#askedAtMs.keys()) if (!this.#view.nodes.has(node)) this.#askedAtMs.delete(node);
  }

  #report(nowMs: number): void {
    this.#own.mayTell ||= this.#isLeftAlone(nowMs);
    if (this.#owesStateAtMs !== null && nowMs >= this.#owesStateAtMs) this.#sayState().catch(() => {});
    const speaker = this.#speaker();
    if (speaker === this.#own) this.#reporter.report();
    else if (speaker && !speaker.announces) this.#reporter.adoptAll();
  }

  /** No instance that knows all reports has answered in time. */
  #isLeftAlone(nowMs: number): boolean {
    if (this.#hearsSinceMs === null) return false;
    const { beatMs } = this.#parts;
    const knows = [...this.#view.nodes.values()].some(({ mayTell, announces }) => mayTell && announces);
    return nowMs - this.#hearsSinceMs >= (knows ? 3 * beatMs : beatMs);
  }

  /** The oldest of those that know all reports. */
  #speaker(): NodeView | null {
    if (!this.#own.mayTell) return null;
    for (const [node, view] of this.#view.nodes)
      if (view !== this.#own && view.mayTell && this.#isOlder(node, view)) return this.#oldest();
    return this.#own;
  }

  #oldest(): NodeView {
    const knowing = [...this.#view.nodes].filter(([, { mayTell }]) => mayTell);
    knowing.sort(
      ([one, first], [other, second]) => first.startedAt - second.startedAt || (one < other ? -1 : 1),
    );
    return knowing[0]?.[1] ?? this.#own;
  }

  #isOlder(node: string, { startedAt }: NodeView): boolean {
    const own = this.#own.startedAt;
    return startedAt < own || (startedAt === own && node < this.#parts.node);
  }

  /** What is lost on the way shows in the next digest; after a refusal the whole list is sent. */
  #say(note: Announced): void {
    this.#publish(note).catch(() => {
      this.#owesList = true;
    });
  }

  #publish(note: Announced): Promise<void> {
    const { bus, node, boot, newId } = this.#parts;
    const { startedAt, mayTell } = this.#own;
    const sender = { boot, startedAt, mayTell, announces: true };
    const message: ControlMessage = { v: 1, id: newId(), node, type: "presence", ...sender, ...note };
    return bus.publish("control", node, message);
  }
}

/** At least one part, so that an empty list is sent too. */
function partsOf(users: string[]): { part: string[]; index: number; parts: number }[] {
  const parts = Math.max(1, Math.ceil(users.length / usersPerPart));
  return Array.from({ length: parts }, (_, index) => ({
    part: users.slice(index * usersPerPart, (index + 1) * usersPerPart),
    index,
    parts,
  }));
}
