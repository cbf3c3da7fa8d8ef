import type { Digest, PresenceNote } from "./presence-note.ts";

/** What is known of one instance. */
export interface NodeView {
  readonly boot: string;
  /** Its age among the others; later than its start when it was given up and came back. */
  startedAt: number;
  /** Users with the occasion of their stay. */
  readonly users: Map<string, number>;
  hash: number;
  /** Number of the last change that was applied. */
  n: number;
  /** When it last gave a sign of life, or could not have been heard. */
  heardAtMs: number;
  /** When it was last heard as one that tells, if that is for it to do. */
  toldAtMs: number;
  /** True while what is known is known to be wrong: its list has to be asked for. */
  isStale: boolean;
  /** Parts of a list that is arriving. */
  parts: [userId: string, stay: Stay][][];
}

/** The stay of a user on an instance, and the one before it that the instance knows to be over, or 0. */
interface Stay {
  occasion: number;
  ended: number;
}

export interface ClusterViewEvents {
  /** A user is online on one more instance. */
  appeared(userId: string, occasion: number, ended: number): void;
  /** A user is no longer online on any instance. */
  vanished(userId: string): void;
  /** The stay of a user on an instance of an earlier version, which does not announce it. */
  newOccasion(): number;
}

/** Who is online where, as far as this instance has heard. Pure: it knows neither time nor bus. */
export class ClusterView {
  readonly nodes = new Map<string, NodeView>();
  /** On how many instances a user is. */
  readonly #places = new Map<string, number>();
  readonly #events: ClusterViewEvents;

  constructor(events: ClusterViewEvents) {
    this.#events = events;
  }

  get userCount(): number {
    return this.#places.size;
  }

  has(userId: string): boolean {
    return this.#places.has(userId);
  }

  users(): string[] {
    return [...this.#places.keys()];
  }

  /** The instance in this life of it; what an earlier life had said is forgotten. Null for one that speaks too late. */
  nodeOf(node: string, { boot, startedAt }: { boot: string; startedAt: number }): NodeView | null {
    const known = this.nodes.get(node);
    if (known?.boot === boot) {
      known.startedAt = startedAt;
      return known;
    }
    if (known && known.startedAt > startedAt) return null;
    const fresh: NodeView = {
      boot,
      startedAt,
      users: new Map(),
      hash: 0,
      n: 0,
      heardAtMs: 0,
      toldAtMs: 0,
      // Nothing is known of it yet: its whole list has to come first.
      isStale: true,
      parts: [],
    };
    this.drop(node);
    this.nodes.set(node, fresh);
    return fresh;
  }

  enter(view: NodeView, userId: string, { occasion, ended }: Stay): void {
    if (!view.users.has(userId)) {
      view.hash ^= hashOf(userId);
      this.#places.set(userId, (this.#places.get(userId) ?? 0) + 1);
    } else if (view.users.get(userId) === occasion) return;
    view.users.set(userId, occasion);
    this.#events.appeared(userId, occasion, ended);
  }

  leave(view: NodeView, userId: string): void {
    if (!view.users.delete(userId)) return;
    view.hash ^= hashOf(userId);
    const places = (this.#places.get(userId) ?? 1) - 1;
    if (places > 0) {
      this.#places.set(userId, places);
      return;
    }
    this.#places.delete(userId);
    this.#events.vanished(userId);
  }

  drop(node: string): void {
    const view = this.nodes.get(node);
    if (!view) return;
    for (const userId of [...view.users.keys()]) this.leave(view, userId);
    this.nodes.delete(node);
  }

  apply(view: NodeView, note: Extract<PresenceNote, { kind: "delta" | "beat" | "part" }>): void {
    if (note.kind === "part") this.#collect(view, note);
    else if (note.kind === "delta" && !view.isStale) {
      if (note.n !== view.n + 1) view.isStale = true;
      else {
        // A user in both lists came online and went offline since the last note.
        for (const [userId, stay] of this.#stays(note.joined, note.occasions, note.ended))
          this.enter(view, userId, stay);
        for (const userId of note.left) this.leave(view, userId);
        view.n = note.n;
      }
    }
    if (view.n !== note.n || !isSame(digestOf(view), note.digest)) view.isStale = true;
  }

  #stays(
    users: string[],
    occasions: number[] | undefined,
    ended: number[] | undefined,
  ): [userId: string, stay: Stay][] {
    return users.map((userId, at) => [
      userId,
      { occasion: occasions?.[at] ?? this.#events.newOccasion(), ended: ended?.[at] ?? 0 },
    ]);
  }

  #collect(view: NodeView, note: Extract<PresenceNote, { kind: "part" }>): void {
    if (note.index === 0) view.parts = [];
    if (note.index !== view.parts.length) return;
    view.parts.push(this.#stays(note.users, note.occasions, note.ended));
    if (view.parts.length < note.parts) return;
    const users = new Map(view.parts.flat());
    view.parts = [];
    for (const userId of [...view.users.keys()]) if (!users.has(userId)) this.leave(view, userId);
    for (const [userId, stay] of users) this.enter(view, userId, stay);
    view.n = note.n;
    view.isStale = false;
  }
}

export function digestOf({ users, hash }: NodeView): Digest {
  return { users: users.size, hash: hash >>> 0 };
}

function isSame(left: Digest, right: Digest): boolean {
  return left.users === right.users && left.hash === right.hash;
}

function hashOf(userId: string): number {
  return Bun.hash.xxHash32(userId);
}
