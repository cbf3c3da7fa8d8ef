import { BoundedMap } from "../../bounded-map.ts";
import type { Digest, PresenceNote } from "./presence-note.ts";

/** More processes than a cluster has at a time; late notes of a process arrive within seconds of its end. */
const maxRemembered = 10_000;

/** What this instance knows about one instance. */
export interface NodeView {
  readonly boot: string;
  /** Orders instances by age. */
  readonly startedAt: number;
  readonly users: Set<string>;
  hash: number;
  /** Number of the last change that was applied. */
  n: number;
  /** When its last note arrived, or no note could arrive. */
  lastSeenAtMs: number;
  /** Whether it knows all reports, from its last note. */
  mayTell: boolean;
  /** False for earlier versions, which publish events without announcing them. */
  announces: boolean;
  /** True: the list of users is wrong or unknown and must be requested. */
  isStale: boolean;
  /** Received parts of a list that is not complete yet. */
  parts: string[][];
}

export interface ClusterViewEvents {
  /** A user is online on one more instance. */
  appeared(userId: string): void;
  /** A user is no longer online on any instance. */
  vanished(userId: string): void;
}

/** The users online on each instance, from the received notes. It uses neither time nor bus. */
export class ClusterView {
  readonly nodes = new Map<string, NodeView>();
  /** Number of instances per user. */
  readonly #instanceCounts = new Map<string, number>();
  /** By node, also of evicted ones. */
  readonly #lastBoots = new BoundedMap<string, string>(maxRemembered);
  /** Boot ids of processes that another one has replaced, with their node. */
  readonly #replacedBoots = new BoundedMap<string, string>(maxRemembered);
  readonly #events: ClusterViewEvents;

  constructor(events: ClusterViewEvents) {
    this.#events = events;
  }

  get userCount(): number {
    return this.#instanceCounts.size;
  }

  has(userId: string): boolean {
    return this.#instanceCounts.has(userId);
  }

  users(): string[] {
    return [...this.#instanceCounts.keys()];
  }

  /**
   * The view of the process with this boot id; a view of an earlier process is dropped. Null: the note is of an earlier
   * process. The times of two processes do not tell which of them is the earlier one, because the clock may have been set.
   */
  nodeOf(node: string, { boot, startedAt }: { boot: string; startedAt: number }): NodeView | null {
    const known = this.nodes.get(node);
    if (known?.boot === boot) return known;
    if (known && this.#replacedBoots.has(boot)) return null;
    const earlier = this.#lastBoots.get(node);
    if (earlier !== undefined && earlier !== boot) this.#replacedBoots.set(earlier, node);
    this.#lastBoots.set(node, boot);
    const fresh: NodeView = {
      boot,
      startedAt,
      users: new Set(),
      hash: 0,
      n: 0,
      lastSeenAtMs: 0,
      mayTell: false,
      announces: true,
      // Its list of users is not known yet.
      isStale: true,
      parts: [],
    };
    this.drop(node);
    this.nodes.set(node, fresh);
    return fresh;
  }

  addUser(view: NodeView, userId: string): void {
    if (view.users.has(userId)) return;
    view.users.add(userId);
    view.hash ^= hashOf(userId);
    this.#instanceCounts.set(userId, (this.#instanceCounts.get(userId) ?? 0) + 1);
    this.#events.appeared(userId);
  }

  removeUser(view: NodeView, userId: string): void {
    if (!view.users.delete(userId)) return;
    view.hash ^= hashOf(userId);
    const instances = (this.#instanceCounts.get(userId) ?? 1) - 1;
    if (instances > 0) {
      this.#instanceCounts.set(userId, instances);
      return;
    }
    this.#instanceCounts.delete(userId);
    this.#events.vanished(userId);
  }

  drop(node: string): void {
    const view = this.nodes.get(node);
    if (!view) return;
    for (const userId of [...view.users]) this.removeUser(view, userId);
    this.nodes.delete(node);
  }

  apply(view: NodeView, note: Extract<PresenceNote, { kind: "delta" | "beat" | "part" }>): void {
    if (note.kind === "part") this.#collect(view, note);
    else if (note.kind === "delta" && !view.isStale) {
      if (note.n !== view.n + 1) view.isStale = true;
      else {
        // A user in both lists came online and went offline since the last note.
        for (const userId of note.joined) this.addUser(view, userId);
        for (const userId of note.left) this.removeUser(view, userId);
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
    for (const userId of [...view.users]) if (!users.has(userId)) this.removeUser(view, userId);
    for (const userId of users) this.addUser(view, userId);
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
