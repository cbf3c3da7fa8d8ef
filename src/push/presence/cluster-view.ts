import type { Digest, PresenceNote } from "./presence-note.ts";

/** What is known of one instance. */
export interface NodeView {
  readonly boot: string;
  /** Its age among the others. */
  readonly startedAt: number;
  readonly users: Set<string>;
  hash: number;
  /** Number of the last change that was applied. */
  n: number;
  /** When it last gave a sign of life, or could not have been heard. */
  heardAtMs: number;
  /** Whether it knows all reports, as it said itself. */
  mayTell: boolean;
  /** False for earlier versions, which make reports without announcing them. */
  announces: boolean;
  /** True while what is known is known to be wrong: its list has to be asked for. */
  isStale: boolean;
  /** Parts of a list that is arriving. */
  parts: string[][];
}

export interface ClusterViewEvents {
  /** A user is online on one more instance. */
  appeared(userId: string): void;
  /** A user is no longer online on any instance. */
  vanished(userId: string): void;
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

  /** The instance as started with this boot; an earlier start is forgotten. Null for a note of an earlier start. */
  nodeOf(node: string, { boot, startedAt }: { boot: string; startedAt: number }): NodeView | null {
    const known = this.nodes.get(node);
    if (known?.boot === boot) return known;
    if (known && known.startedAt > startedAt) return null;
    const fresh: NodeView = {
      boot,
      startedAt,
      users: new Set(),
      hash: 0,
      n: 0,
      heardAtMs: 0,
      mayTell: false,
      announces: true,
      // Nothing is known of it yet: its whole list has to come first.
      isStale: true,
      parts: [],
    };
    this.drop(node);
    this.nodes.set(node, fresh);
    return fresh;
  }

  enter(view: NodeView, userId: string): void {
    if (view.users.has(userId)) return;
    view.users.add(userId);
    view.hash ^= hashOf(userId);
    this.#places.set(userId, (this.#places.get(userId) ?? 0) + 1);
    this.#events.appeared(userId);
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
    for (const userId of [...view.users]) this.leave(view, userId);
    this.nodes.delete(node);
  }

  apply(view: NodeView, note: Extract<PresenceNote, { kind: "delta" | "beat" | "part" }>): void {
    if (note.kind === "part") this.#collect(view, note);
    else if (note.kind === "delta" && !view.isStale) {
      if (note.n !== view.n + 1) view.isStale = true;
      else {
        // A user in both lists came online and went offline since the last note.
        for (const userId of note.joined) this.enter(view, userId);
        for (const userId of note.left) this.leave(view, userId);
        view.n = note.n;
      }
    }
    if (view.n !== note.n || !isSame(digestOf(view), note.digest)) view.isStale = true;
  }

  #collect(view: NodeView, note: Extract<PresenceNote, { kind: "part" }>): void {
    if (note.index === 0) view.parts = [];
    if (note.index !== view.parts.length) return;
    view.parts.push(note.users);
    if (view.parts.length < note.parts) return;
    const users = new Set(view.parts.flat());
    view.parts = [];
    for (const userId of [...view.users]) if (!users.has(userId)) this.leave(view, userId);
    for (const userId of users) this.enter(view, userId);
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
