import type { Bus, BusMessage } from "../../src/bus/bus.ts";
import { localBus } from "../../src/bus/local.ts";
import { manualClock } from "../../src/clock.ts";
import { type ControlMessage, presenceEventId } from "../../src/push/message/message.ts";
import { ClusterPresence } from "../../src/push/presence/cluster-presence.ts";

export const beatMs = 5_000;
export const graceMs = 5_000;

type PresenceMessage = ControlMessage & { type: "presence" };

/** Instances on one bus: every message reaches all of them, unless their connection is cut. */
export class Room {
  readonly clock = manualClock();
  readonly nodes = new Map<string, { presence: ClusterPresence; here: Map<string, number> }>();
  readonly events: string[] = [];
  /** The same events, each with its id. */
  readonly told: { id: string; type: string; userId: string }[] = [];
  isLineUp = true;
  /** Instances whose connection is cut. */
  readonly cutOff = new Set<string>();
  canTell = true;
  /** Called when the queue has accepted an event, before the instance gets the confirmation. */
  onTold: (node: string) => void = () => {};
  said: PresenceMessage[] = [];
  #batch: PresenceMessage[] = [];
  #delivery: Promise<void> | null = null;
  #starts = 0;

  /** `clockOffsetMs`: how far the system clock of its machine is ahead. */
  start(node: string, clockOffsetMs = 0): void {
    const here = new Map<string, number>();
    this.#starts += 1;
    const boot = `boot-${this.#starts}`;
    let ids = 0;
    const presence = new ClusterPresence({
      bus: this.#bus(node),
      node,
      boot,
      newId: () => `${boot}-${++ids}`,
      isOnlineHere: (userId) => (here.get(userId) ?? 0) > 0,
      clock: { now: () => this.clock.now() + clockOffsetMs, elapsed: this.clock.elapsed },
      steady: this.clock,
      beatMs,
      graceMs,
      publishEvent: async (type, userId, occasion) => {
        if (!this.canTell || !this.#reaches(node)) throw new Error("the queue is away");
        this.events.push(`${type} ${userId}`);
        this.told.push({ id: presenceEventId(type, userId, occasion), type, userId });
        this.onTold(node);
      },
      onEventsLost: () => {},
    });
    this.nodes.set(node, { presence, here });
    this.clock.advance(1);
  }

  #reaches(node: string): boolean {
    return this.isLineUp && !this.cutOff.has(node);
  }

  #bus(node: string): Bus {
    return {
      ...localBus(),
      state: () => ({ ready: this.#reaches(node), detail: "" }),
      publish: async (_topic, _key, message: BusMessage) => {
        if (!this.#reaches(node)) throw new Error("the queue is away");
        const copy = JSON.parse(JSON.stringify(message)) as PresenceMessage;
        this.said.push(copy);
        this.#batch.push(copy);
        this.#delivery ??= this.#deliver();
        await this.#delivery;
      },
    };
  }

  /** As through a broker: never in the same turn of the event loop, and the messages of one turn in one batch. */
  async #deliver(): Promise<void> {
    await Bun.sleep(0);
    this.#delivery = null;
    const batch = this.#batch.splice(0);
    for (const [name, { presence }] of this.nodes)
      if (this.#reaches(name)) for (const note of batch) presence.receive(note);
  }

  #node(node: string) {
    const found = this.nodes.get(node);
    if (!found) throw new Error(`${node} does not run.`);
    return found;
  }

  open(node: string, userId: string): void {
    const { here, presence } = this.#node(node);
    here.set(userId, (here.get(userId) ?? 0) + 1);
    presence.opened(userId);
  }

  close(node: string, userId: string): void {
    const { here, presence } = this.#node(node);
    here.set(userId, (here.get(userId) ?? 1) - 1);
    presence.closed(userId);
  }

  kill(node: string): void {
    this.nodes.delete(node);
  }

  online(node: string): string[] {
    return this.#node(node).presence.onlineUsers().sort();
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      this.clock.advance(500);
      for (const { presence } of this.nodes.values()) presence.tick(this.clock.now());
      await Bun.sleep(0);
      await Bun.sleep(0);
    }
  }

  /** The last event of each user that other services know; they drop duplicates by id. */
  lastTold(): Map<string, string> {
    const firsts = new Map(this.told.toReversed().map((event) => [event.id, event]));
    return new Map([...firsts.values()].toReversed().map(({ userId, type }) => [userId, type]));
  }
}

export async function roomOf(...nodes: string[]): Promise<Room> {
  const room = new Room();
  for (const node of nodes) room.start(node);
  await room.pass(beatMs + 1_000);
  return room;
}
