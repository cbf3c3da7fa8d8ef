import type { Bus } from "../../bus/bus.ts";
import { type Clock, pause } from "../../clock.ts";
import type { ControlMessage, PresenceEvent } from "../message/message.ts";
import { ClusterView, digestOf, type NodeView } from "./cluster-view.ts";
import { type PresenceNote, readPresenceNote } from "./presence-note.ts";
import { endInTime, Reporter } from "./reporter.ts";
import { instanceOfWorker } from "./worker-name.ts";

export interface ClusterPresenceParts {
  bus: Bus;
  node: string;
  boot: string;
  newId: () => string;
  isOnlineHere: (userId: string) => boolean;
  /** Orders instances by their start. */
  clock: Clock;
  /** For deadlines. */
  steady: Clock;
  beatMs: number;
  graceMs: number;
  publishEvent: (type: PresenceEvent["type"], userId: string, occasion: number) => Promise<void>;
  onEventsLost: () => void;
}

export const presenceBeatMs = 5_000;

/** An instance is evicted after this many beats without a note, and so within three beats of its end. */
const beatsUntilDead = 2.5;
const usersPerPart = 2_000;
/** How long an ending instance waits for its own bye. */
const byeReturnsWithinMs = 2_000;
/** The next older instance answers only if the one before it did not within this time. */
const answerEveryMs = 1_000;

type UnsentNote = PresenceNote extends infer Note
  ? Note extends PresenceNote
    ? Omit<Note, "boot" | "startedAt" | "mayTell" | "announces">
    : never
  : never;

/**
 * The users online on all instances. Each instance sends its changes and, with every beat, a digest of its list; an
 * instance that sees a difference asks for the whole list. The oldest instance that knows all reports publishes the
 * presence events for other services.
 */
export class ClusterPresence {
  readonly #parts: ClusterPresenceParts;
  readonly #view: ClusterView;
  readonly #own: NodeView;
  readonly #reporter: Reporter;
  #joined = new Set<string>();
  #left = new Set<string>();
  #mustSendList = true;
  #lastBeatMs = Number.NEGATIVE_INFINITY;
  #lastTickMs: number;
  #askedAtMs = new Map<string, number>();
  #askedAllAtMs = Number.NEGATIVE_INFINITY;
  /** When to send the state of all reports, unless another instance sends it first; null: it was not requested. */
  #sendStateAtMs: number | null = null;
  /** Number of received parts of a state, by sender. */
  readonly #stateParts = new Map<string, number>();
  #wasReady = false;
  /** Since when this instance certainly receives notes; null: it may have missed some. */
  #receivingSinceMs: number | null = null;
  /** The own bye came back; true: after those of all others. A bye that follows in the same batch does not count. */
  readonly #byeReturned = Promise.withResolvers<boolean>();

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
      publishEvent: parts.publishEvent,
      announce: (lists) => this.#publish({ kind: "reports", ...lists }),
      clock,
      steady,
      graceMs: parts.graceMs,
      retryMs: parts.beatMs,
    });
    const own = this.#view.nodeOf(node, { boot, startedAt: clock.now() });
    if (!own) throw new Error("A new view already contains this instance.");
    this.#own = own;
  }

  get nodeCount(): number {
    return this.#view.nodes.size;
  }

  /** Workers of one instance count once. */
  get instanceCount(): number {
    return new Set([...this.#view.nodes.keys()].map(instanceOfWorker)).size;
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
    this.#view.addUser(this.#own, userId);
    if (!this.#left.delete(userId)) this.#joined.add(userId);
  }

  /** A normal connection of the user was closed here. */
  closed(userId: string): void {
    if (!this.#own.users.has(userId) || this.#parts.isOnlineHere(userId)) return;
    this.#view.removeUser(this.#own, userId);
    // A short stay is sent too, so that other instances report its end if this one loses the broker.
    this.#left.add(userId);
  }

  /** Call when notes of other instances may have been lost. */
  reportLoss(): void {
    this.#distrustReports();
  }

  receive(message: ControlMessage & { type: "presence" }): void {
    const note = readPresenceNote(message);
    if (!note) return;
    const isOwn = message.node === this.#parts.node;
    if (note.kind === "reports") this.#reporter.receive(note, isOwn);
    if (isOwn) {
      if (note.kind === "ask") this.#receivingSinceMs ??= this.#parts.steady.now();
      if (note.kind === "bye" && note.boot === this.#parts.boot)
        this.#byeReturned.resolve(this.nodeCount === 1);
      if (note.kind === "reports" && this.#reportingInstance() === this.#own) this.#reporter.flush();
      return;
    }
    if (note.kind === "bye") {
      if (this.#view.nodes.get(message.node)?.boot === note.boot) this.#view.drop(message.node);
      return;
    }
    const view = this.#view.nodeOf(message.node, note);
    if (!view) return;
    view.lastSeenAtMs = this.#parts.steady.now();
    view.mayTell = note.mayTell !== false;
    view.announces = note.announces === true;
    if (note.kind === "ask") this.#receiveAsk(message.node, note.of);
    else if (note.kind === "state") this.#receiveState(message.node, note);
    else if (note.kind !== "reports") this.#view.apply(view, note);
  }

  tick(nowMs: number): void {
    const { bus, beatMs } = this.#parts;
    const isReady = bus.state().ready;
    // While the queue was not ready or this process was suspended, no notes could arrive: no instance is evicted for that.
    if (!isReady || !this.#wasReady || nowMs - this.#lastTickMs > beatMs) {
      this.#resetTimeouts(nowMs);
      if (isReady) this.#distrustReports();
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

  /** Ends in order, so that the others need not wait to evict this instance. The last one reports all users offline. */
  async leave(): Promise<void> {
    const { bus, onEventsLost } = this.#parts;
    if (bus.state().ready) await endInTime(this.#finish(), onEventsLost);
  }

  async #finish(): Promise<void> {
    // An instance that started a moment ago may be unknown here, and would otherwise never get the reports.
    await this.#sendState().catch(() => {});
    const isSent = await this.#publish({ kind: "bye" }).then(
      () => true,
      () => false,
    );
    // Instances that end at the same time: the bye of the others may still be on its way. All receive the byes in one
    // order, so the one whose bye comes last knows it when that bye comes back.
    const waited = new AbortController();
    const limit = pause(isSent ? byeReturnsWithinMs : 0, waited.signal).then(() => this.nodeCount === 1);
    const isLast = await Promise.race([this.#byeReturned.promise, limit]);
    waited.abort();
    if (isLast && this.#own.mayTell) await this.#reporter.end();
  }

  #resetTimeouts(nowMs: number): void {
    for (const view of this.#view.nodes.values()) view.lastSeenAtMs = nowMs;
  }

  /** Stops reporting until another instance has sent the state of all reports, or none can. */
  #distrustReports(): void {
    this.#reporter.reports.distrustAll();
    this.#own.mayTell = false;
    this.#receivingSinceMs = null;
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
      // The whole list contains the changes.
      if (joined.length + left.length > usersPerPart) this.#mustSendList = true;
      if (!this.#mustSendList) this.#send({ kind: "delta", n: own.n, digest: digestOf(own), joined, left });
    }
    if (this.#mustSendList) this.#sendList();
    else if (!hasChanged && nowMs - this.#lastBeatMs < this.#parts.beatMs) return;
    else if (!hasChanged) this.#send({ kind: "beat", n: own.n, digest: digestOf(own) });
    this.#lastBeatMs = nowMs;
  }

  #sendList(): void {
    this.#mustSendList = false;
    const own = this.#own;
    for (const { part, ...place } of partsOf([...own.users]))
      this.#send({ kind: "part", n: own.n, digest: digestOf(own), ...place, users: part });
  }

  async #sendState(): Promise<void> {
    this.#sendStateAtMs = null;
    const { reports } = this.#reporter;
    const { highest } = reports;
    const sent = partsOf(reports.stateUsers()).map(({ part, ...place }) =>
      this.#publish({ kind: "state", ...place, highest, ...reports.listsOf(part) }),
    );
    await Promise.all(sent);
  }

  #receiveAsk(sender: string, of: string | null): void {
    if (of !== null && of !== this.#parts.node) return;
    this.#mustSendList = true;
    if (of !== null || this.#sendStateAtMs !== null) return;
    const older = [...this.#view.nodes].filter(
      ([node, view]) => node !== sender && view.mayTell && view !== this.#own && this.#isOlder(node, view),
    );
    this.#sendStateAtMs = this.#parts.steady.now() + older.length * answerEveryMs;
  }

  #receiveState(node: string, note: Extract<PresenceNote, { kind: "state" }>): void {
    this.#reporter.receive(note, false);
    const before = note.index === 0 ? 0 : (this.#stateParts.get(node) ?? -1);
    if (before !== note.index) return;
    this.#stateParts.set(node, before + 1);
    if (note.index + 1 < note.parts) return;
    this.#stateParts.delete(node);
    if (note.mayTell === false) return;
    this.#sendStateAtMs = null;
    if (this.#own.mayTell) return;
    this.#reporter.settle(note.highest);
    this.#own.mayTell = this.#parts.bus.state().ready;
  }

  #evictDeadInstances(nowMs: number): void {
    for (const [node, view] of this.#view.nodes) {
      if (view === this.#own || nowMs - view.lastSeenAtMs <= beatsUntilDead * this.#parts.beatMs) continue;
      this.#view.drop(node);
      this.#stateParts.delete(node);
    }
  }

  #ask(nowMs: number): void {
    const { beatMs } = this.#parts;
    if (!this.#own.mayTell && nowMs - this.#askedAllAtMs >= beatMs) {
      this.#askedAllAtMs = nowMs;
      this.#send({ kind: "ask", of: null });
    }
    for (const [node, view] of this.#view.nodes) {
      if (!view.isStale || view === this.#own) continue;
      if (nowMs - (this.#askedAtMs.get(node) ?? Number.NEGATIVE_INFINITY) < beatMs) continue;
      this.#askedAtMs.set(node, nowMs);
      this.#send({ kind: "ask", of: node });
    }
    for (const node of this.#askedAtMs.keys()) if (!this.#view.nodes.has(node)) this.#askedAtMs.delete(node);
  }

  #report(nowMs: number): void {
    this.#own.mayTell ||= this.#isWithoutAnswer(nowMs);
    if (this.#sendStateAtMs !== null && nowMs >= this.#sendStateAtMs) this.#sendState().catch(() => {});
    const reporting = this.#reportingInstance();
    if (reporting === this.#own) this.#reporter.report();
    else if (reporting && !reporting.announces) this.#reporter.adoptAll();
  }

  /** Whether no instance that knows all reports has answered in time. */
  #isWithoutAnswer(nowMs: number): boolean {
    if (this.#receivingSinceMs === null) return false;
    const { beatMs } = this.#parts;
    const canAnswer = [...this.#view.nodes.values()].some(({ mayTell, announces }) => mayTell && announces);
    return nowMs - this.#receivingSinceMs >= (canAnswer ? 3 * beatMs : beatMs);
  }

  /** The oldest instance that knows all reports; null: this one does not know them. */
  #reportingInstance(): NodeView | null {
    if (!this.#own.mayTell) return null;
    for (const [node, view] of this.#view.nodes)
      if (view !== this.#own && view.mayTell && this.#isOlder(node, view)) return this.#oldest();
    return this.#own;
  }

  #oldest(): NodeView {
    const informed = [...this.#view.nodes].filter(([, { mayTell }]) => mayTell);
    informed.sort(
      ([one, first], [other, second]) => first.startedAt - second.startedAt || (one < other ? -1 : 1),
    );
    return informed[0]?.[1] ?? this.#own;
  }

  #isOlder(node: string, { startedAt }: NodeView): boolean {
    const own = this.#own.startedAt;
    return startedAt < own || (startedAt === own && node < this.#parts.node);
  }

  /** A lost note shows in the next digest; after a refusal the whole list is sent. */
  #send(note: UnsentNote): void {
    this.#publish(note).catch(() => {
      this.#mustSendList = true;
    });
  }

  #publish(note: UnsentNote): Promise<void> {
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
