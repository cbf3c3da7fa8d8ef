import type { Socket } from "./connection.ts";

/** Notified when a name gets its first connection here, and when it loses the last one. */
export interface NameWatch {
  users(userId: string, isPresent: boolean): void;
  /** Users with a normal connection. */
  online(userId: string, isPresent: boolean): void;
  channels(channel: string, isPresent: boolean): void;
}

/** The connections of this process, by connection id and by user. */
export class Connections {
  readonly #watch: NameWatch | null;
  readonly #byId = new Map<string, Socket>();
  /** Most users have one connection; a set is created only for more. */
  readonly #byUser = new Map<string, Socket | Set<Socket>>();
  readonly #membersOfChannel = new Map<string, number>();
  #temporary = 0;
  #v1 = 0;
  #console = 0;

  constructor(watch: NameWatch | null = null) {
    this.#watch = watch;
  }

  get size(): number {
    return this.#byId.size;
  }

  get temporary(): number {
    return this.#temporary;
  }

  get normal(): number {
    return this.#byId.size - this.#temporary;
  }

  /** Connections that speak `slipway.v1`. */
  get v1(): number {
    return this.#v1;
  }

  /** Connections of the console of the deploy service. */
  get console(): number {
    return this.#console;
  }

  get users(): number {
    return this.#byUser.size;
  }

  get channels(): ReadonlyMap<string, number> {
    return this.#membersOfChannel;
  }

  all(): IterableIterator<Socket> {
    return this.#byId.values();
  }

  byId(id: string): Socket | undefined {
    return this.#byId.get(id);
  }

  /** Users with a connection of either kind. */
  userIds(): IterableIterator<string> {
    return this.#byUser.keys();
  }

  ofUser(userId: string): readonly Socket[] {
    const held = this.#byUser.get(userId);
    if (held === undefined) return [];
    return held instanceof Set ? [...held] : [held];
  }

  countOfUser(userId: string): number {
    const held = this.#byUser.get(userId);
    if (held === undefined) return 0;
    return held instanceof Set ? held.size : 1;
  }

  /** A user is online with a normal connection; temporary ones do not count. */
  isOnline(userId: string): boolean {
    const held = this.#byUser.get(userId);
    if (held === undefined) return false;
    if (!(held instanceof Set)) return held.data.kind === "normal";
    for (const socket of held) if (socket.data.kind === "normal") return true;
    return false;
  }

  onlineUsers(): string[] {
    const users: string[] = [];
    for (const userId of this.#byUser.keys()) if (this.isOnline(userId)) users.push(userId);
    return users;
  }

  add(socket: Socket): void {
    const { id, userId, kind, isV1, isConsole } = socket.data;
    if (this.#watch && kind === "normal" && !this.isOnline(userId)) this.#watch.online(userId, true);
    this.#byId.set(id, socket);
    if (kind === "temporary") this.#temporary++;
    if (isV1) this.#v1++;
    if (isConsole) this.#console++;
    const held = this.#byUser.get(userId);
    if (held === undefined) {
      this.#byUser.set(userId, socket);
      this.#watch?.users(userId, true);
    } else if (held instanceof Set) held.add(socket);
    else this.#byUser.set(userId, new Set([held, socket]));
  }

  /** False: already removed. */
  remove(socket: Socket): boolean {
    const { id, userId, kind, isV1, isConsole, channels } = socket.data;
    if (!this.#byId.delete(id)) return false;
    if (kind === "temporary") this.#temporary--;
    if (isV1) this.#v1--;
    if (isConsole) this.#console--;
    for (const channel of channels ?? []) this.countLeave(channel);
    const held = this.#byUser.get(userId);
    if (held === socket) {
      this.#byUser.delete(userId);
      this.#watch?.users(userId, false);
    } else if (held instanceof Set) {
      held.delete(socket);
      const [only] = held;
      if (only && held.size === 1) this.#byUser.set(userId, only);
    }
    if (this.#watch && kind === "normal" && !this.isOnline(userId)) this.#watch.online(userId, false);
    return true;
  }

  countJoin(channel: string): void {
    const members = this.#membersOfChannel.get(channel) ?? 0;
    this.#membersOfChannel.set(channel, members + 1);
    if (members === 0) this.#watch?.channels(channel, true);
  }

  countLeave(channel: string): void {
    const members = (this.#membersOfChannel.get(channel) ?? 0) - 1;
    if (members > 0) {
      this.#membersOfChannel.set(channel, members);
      return;
    }
    this.#membersOfChannel.delete(channel);
    this.#watch?.channels(channel, false);
  }
}
