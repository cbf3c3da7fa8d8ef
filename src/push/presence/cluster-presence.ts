import type { Bus } from "../../bus/bus.ts";
import type { Clock } from "../../clock.ts";
import type { ControlMessage } from "../message/message.ts";
import { ClusterView, digestOf, type NodeView } from "./cluster-view.ts";
import { EventJournal, type PresenceEventType } from "./event-journal.ts";
import { Presence } from "./presence.ts";
import { type PresenceNote, readPresenceNote } from "./presence-note.ts";

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
  tell: (type: PresenceEventType, userId: string, occasion: number) => Promise<void>;
  onEventsLost: () => void;
}

export const presenceBeatMs = 5_000;
/** Heard for the last time before it died, an instance is gone within three beats of its death. */
const beatsUntilDead = 2.5;
const usersPerPart = 2_000;
/** Names of instances that never come back must not gather. */
const maxGivenUp = 1_000;
/** What the instance that spoke until now told in its last moment may be told twice; nothing may be told never. */
const takeOverMarginMs = 1_000;

type Announced = PresenceNote extends infer Note
  ? Note extends PresenceNote
    ? Omit<Note, "boot" | "startedAt" | "mayTell">
    : never
  : never;

/**
 * Who is online on any instance. Each announces its changes and, every beat, a digest of its list; who sees that he
 * differs asks for the whole list. Nothing waits for an answer: what is asked for is answered from what is known.
 * The oldest instance tells other services who came and went.
 */
export class ClusterPresence {
  readonly #parts: ClusterPresenceParts;
  readonly #view: ClusterView;
  readonly #own: NodeView;
  readonly #grace: Presence;
  readonly #journal: EventJournal;
  /** Instances that were given up, by the life they had. */
  readonly #givenUp = new Map<string, string>();
  /** Stays that another instance still counts although they were reported as over. */
  readonly #outdated = new Map<string, number>();
  #joined = new Set<string>();
  #left = new Set<string>();
  #owesList = true;
  #lastBeatMs = Number.NEGATIVE_INFINITY;
  #lastTickMs: number;
  #risenAtMs = Number.NEGATIVE_INFINITY;
  #askedAtMs = new Map<string, number>();
  #speaker: { node: string; toldAtMs: number } | null = null;
  /** Since when the others can be heard; null: they cannot. */
  #readySinceMs: number | null = null;

  constructor(parts: ClusterPresenceParts) {
    const { steady, graceMs, beatMs, node, boot, clock } = parts;
    this.#parts = parts;
    this.#lastTickMs = steady.now();
    this.#journal = new EventJournal({
      tell: parts.tell,
      clock: steady,
      keepMs: 4 * beatMs,
      onLost: parts.onEventsLost,
    });
    this.#view = new ClusterView({
      appeared: (userId, occasion, ended) => this.#grace.opened(userId, occasion, ended),
      vanished: (userId) => this.#grace.closed(userId),
      newOccasion: () => clock.now(),
    });
    this.#grace = new Presence({
      isOnline: (userId) => this.#view.has(userId),
      clock: steady,
      graceMs,
      tell: (type, userId, occasion) => this.#journal.add(type, userId, occasion),
      corrected: (userId, from, to) => this.#journal.correct(userId, from, to),
      outdated: (userId, ended) => void this.#outdated.set(userId, ended),
    });
    const own = this.#view.nodeOf(node, { boot, startedAt: clock.now() });
    if (!own) throw new Error("A new view knows no other life of this instance.");
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
    const occasion = this.#grace.occasionOf(userId) ?? this.#parts.clock.now();
    this.#view.enter(this.#own, userId, { occasion, ended: 0 });
    if (!this.#left.delete(userId)) this.#joined.add(userId);
  }

  /** A normal connection of the user was closed here. */
  closed(userId: string): void {
    if (!this.#own.users.has(userId) || this.#parts.isOnlineHere(userId)) return;
    this.#view.leave(this.#own, userId);
    // A short stay is announced too, so that other instances report its end if this one loses the broker first.
    this.#left.add(userId);
  }

  heard(message: ControlMessage & { type: "presence" }): void {
    const { node } = this.#parts;
    const note = readPresenceNote(message);
    if (!note || message.node === node) return;
    if (note.kind === "bye") {
      if (this.#view.nodes.get(message.node)?.boot === note.boot) this.#view.drop(message.node);
      return;
    }
    const view = this.#view.nodeOf(message.node, note);
    if (!view) return;
    view.heardAtMs = this.#parts.steady.now();
    if (note.mayTell !== false) view.toldAtMs = view.heardAtMs;
    this.#greetRisen(message.node, note.boot);
    if (note.kind === "risen") this.#heardRisen(note.of, note.life);
    else if (note.kind === "ended")
      for (const [at, userId] of note.users.entries()) this.#grace.endedBefore(userId, note.ended[at] ?? 0);
    else if (note.kind !== "ask") this.#view.apply(view, note);
    else if (note.of === null || note.of === node) this.#owesList = true;
  }

  tick(nowMs: number): void {
    const { bus, beatMs } = this.#parts;
    const isReady = bus.state().ready;
    // While the queue was away, or this process asleep, nobody could be heard: that is no sign of death.
    const wasReady = this.#readySinceMs !== null;
    if (!isReady || !wasReady || nowMs - this.#lastTickMs > beatMs) this.#hearAll(nowMs);
    this.#lastTickMs = nowMs;
    if (isReady && !wasReady) this.#say({ kind: "ask", of: null });
    this.#readySinceMs = isReady ? (this.#readySinceMs ?? nowMs) : null;
    this.#grace.tick(nowMs);
    if (!isReady) return;
    this.#announce(nowMs);
    this.#buryDead(nowMs);
    this.#askStale(nowMs);
    this.#speak(nowMs);
  }

  /** Ends in order: the others need not wait for this instance to be missed; the last one tells that nobody is left. */
  async leave(): Promise<void> {
    const { bus, node, steady } = this.#parts;
    if (!bus.state().ready) return;
    await this.#publish({ kind: "bye" }).catch(() => {});
    this.#speak(steady.now());
    if (this.nodeCount > 1 || this.#speaker?.node !== node) return;
    this.#grace.end();
    await this.#journal.finish();
  }

  #hearAll(nowMs: number): void {
    for (const view of this.#view.nodes.values()) view.heardAtMs = nowMs;
  }

  #announce(nowMs: number): void {
    const own = this.#own;
    if (this.#outdated.size > 0) {
      this.#say({ kind: "ended", users: [...this.#outdated.keys()], ended: [...this.#outdated.values()] });
      this.#outdated.clear();
    }
    const hasChanged = this.#joined.size > 0 || this.#left.size > 0;
    if (hasChanged) {
      own.n += 1;
      const [joined, left] = [[...this.#joined], [...this.#left]];
      this.#joined.clear();
      this.#left.clear();
      // In a list that is sent anyway the changes are contained.
      if (joined.length + left.length > usersPerPart) this.#owesList = true;
      const stays = this.#staysOf(joined);
      if (!this.#owesList)
        this.#say({ kind: "delta", n: own.n, digest: digestOf(own), joined, ...stays, left });
    }
    if (this.#owesList) this.#sayList();
    else if (!hasChanged && nowMs - this.#lastBeatMs < this.#parts.beatMs) return;
    else if (!hasChanged) this.#say({ kind: "beat", n: own.n, digest: digestOf(own) });
    this.#lastBeatMs = nowMs;
  }

  #sayList(): void {
    this.#owesList = false;
    const own = this.#own;
    const users = [...own.users.keys()];
    const parts = Math.max(1, Math.ceil(users.length / usersPerPart));
    for (let index = 0; index < parts; index++) {
      const some = users.slice(index * usersPerPart, (index + 1) * usersPerPart);
      const stays = this.#staysOf(some);
      this.#say({ kind: "part", n: own.n, digest: digestOf(own), index, parts, users: some, ...stays });
    }
  }

  /** The stays as this instance knows them now; they may have begun on another instance. */
  #staysOf(users: string[]): { occasions: number[]; ended: number[] } {
    return {
      occasions: users.map((userId) => this.#grace.occasionOf(userId) ?? this.#own.users.get(userId) ?? 0),
      ended: users.map((userId) => this.#grace.endedOf(userId)),
    };
  }

  #buryDead(nowMs: number): void {
    for (const [node, view] of this.#view.nodes) {
      if (view === this.#own || nowMs - view.heardAtMs <= beatsUntilDead * this.#parts.beatMs) continue;
      this.#view.drop(node);
      this.#givenUp.set(node, view.boot);
      if (this.#givenUp.size > maxGivenUp) this.#givenUp.delete(this.#givenUp.keys().next().value ?? node);
    }
  }

  /** The instance was not dead, only disconnected: it must learn that its users were reported offline. */
  #greetRisen(node: string, life: string): void {
    const given = this.#givenUp.get(node);
    if (given === undefined) return;
    this.#givenUp.delete(node);
    if (given === life) this.#say({ kind: "risen", of: node, life });
  }

  /**
   * This instance was given up while it was cut off. Of what was told about its users it knows nothing, so that it must
   * not be the one who tells: it joins again as the youngest, and those who saw its users go tell that they are back.
   */
  #heardRisen(node: string, life: string): void {
    const { node: ownNode, boot, clock, steady, beatMs } = this.#parts;
    if (node !== ownNode || life !== boot) return;
    // Several instances may report the same absence at the same time.
    const nowMs = steady.now();
    if (nowMs - this.#risenAtMs > beatsUntilDead * beatMs) this.#grace.renew(this.#own.users.keys());
    this.#risenAtMs = nowMs;
    this.#own.startedAt = clock.now();
    this.#owesList = true;
  }

  #askStale(nowMs: number): void {
    for (const [node, view] of this.#view.nodes) {
      if (!view.isStale || view === this.#own) continue;
      if (nowMs - (this.#askedAtMs.get(node) ?? Number.NEGATIVE_INFINITY) < this.#parts.beatMs) continue;
      this.#askedAtMs.set(node, nowMs);
      this.#say({ kind: "ask", of: node });
    }
    for (const node of this.#askedAtMs.keys()) if (!this.#view.nodes.has(node)) this.#askedAtMs.delete(node);
  }

  #speak(nowMs: number): void {
    if (!this.#mayTell(nowMs)) return;
    const before = this.#speaker;
    const oldest = this.#oldest();
    const isOwn = oldest === this.#parts.node;
    const toldAtMs = isOwn ? nowMs : (this.#view.nodes.get(oldest)?.toldAtMs ?? nowMs);
    this.#speaker = { node: oldest, toldAtMs };
    if (!isOwn) {
      this.#journal.forgetTold(toldAtMs);
      return;
    }
    if (before && before.node !== oldest) this.#journal.forgetBefore(before.toldAtMs - takeOverMarginMs);
    void this.#journal.flush();
  }

  /** Who has only just begun to hear cannot know yet that it is not alone, nor that it was given up. */
  #mayTell(nowMs: number): boolean {
    return this.#readySinceMs !== null && nowMs - this.#readySinceMs >= this.#parts.beatMs;
  }

  #oldest(): string {
    let oldest = this.#parts.node;
    let since = this.#own.startedAt;
    for (const [node, { startedAt }] of this.#view.nodes) {
      if (startedAt > since || (startedAt === since && node >= oldest)) continue;
      oldest = node;
      since = startedAt;
    }
    return oldest;
  }

  /** What is lost on the way shows in the next digest; after a refusal the whole list is told. */
  #say(note: Announced): void {
    this.#publish(note).catch(() => {
      this.#owesList = true;
    });
  }

  #publish(note: Announced): Promise<void> {
    const { bus, node, boot, newId, steady } = this.#parts;
    const message: ControlMessage = {
      v: 1,
      id: newId(),
      node,
      type: "presence",
      boot,
      startedAt: this.#own.startedAt,
      mayTell: this.#mayTell(steady.now()),
      ...note,
    };
    return bus.publish("control", node, message);
  }
}
