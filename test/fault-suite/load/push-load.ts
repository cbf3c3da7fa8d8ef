import type { Random } from "../random.ts";
import type { History, PresenceEvent, PresenceView } from "../reconciler/history.ts";
import { timePasses } from "../setups/part.ts";
import type { World } from "../setups/world.ts";
import type { ClientIdentity } from "./client-record.ts";
import { request } from "./http.ts";
import { Publishers, type Target } from "./publishers.ts";
import { rawClient } from "./raw-client.ts";
import { type LoadClient, resumingClient } from "./resuming-client.ts";

const identities: (ClientIdentity & { isRaw: boolean })[] = [
  { name: "client 1", userId: "ann", channels: ["news"], isTemporary: false, isRaw: false },
  { name: "client 2", userId: "ann", channels: ["sport"], isTemporary: false, isRaw: false },
  { name: "client 3", userId: "ben", channels: ["news", "sport"], isTemporary: false, isRaw: false },
  { name: "client 4", userId: "cid", channels: ["sport"], isTemporary: false, isRaw: false },
  { name: "client 5", userId: "cid", channels: ["news"], isTemporary: true, isRaw: false },
  { name: "client 6", userId: "dan", channels: ["news"], isTemporary: false, isRaw: true },
  { name: "client 7", userId: "dan", channels: ["sport"], isTemporary: true, isRaw: true },
  { name: "client 8", userId: "eve", channels: [], isTemporary: false, isRaw: true },
];

const targets: Target[] = [
  { targetType: "all", target: "" },
  ...["ann", "ben", "cid", "dan", "eve"].map((target): Target => ({ targetType: "user", target })),
  ...["cid", "dan"].map((target): Target => ({ targetType: "temp_user", target })),
  ...["news", "sport"].map((target): Target => ({ targetType: "channel", target })),
];

/** Publishers, and clients that connect and disconnect. */
export class PushLoad {
  readonly publishers: Publishers;
  readonly #world: World;
  readonly #random: Random;
  readonly #clients: LoadClient[];
  #isRunning = false;
  #churning: Promise<unknown> = Promise.resolve();
  #presenceEvents: PresenceEvent[] = [];
  #lastOfUser = new Map<string, PresenceEvent>();
  readonly #earlierIds = new Set<string>();

  constructor(world: World, random: Random) {
    this.#world = world;
    this.#random = random;
    this.publishers = new Publishers(world.instances, random);
    this.#clients = identities.map(({ isRaw, ...identity }) =>
      (isRaw ? rawClient : resumingClient)(identity, world.instances, random),
    );
  }

  start(): void {
    this.#forgetPresenceEvents();
    for (const client of this.#clients) {
      client.record.beginRound();
      client.open();
    }
    this.#isRunning = true;
    this.publishers.start(targets);
    this.#churning = Promise.all([this.#churn(), this.#drop()]);
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await Promise.all([this.#churning, this.publishers.stop()]);
  }

  /** Whether an instance accepts a message now. */
  probe(instance: World["instances"][number]): Promise<number> {
    // A separate target: probes run concurrently with the lanes, so their order is not known.
    return this.publishers.publishOnce(instance, {
      targetType: "user",
      target: `probe of ${instance.part.name}`,
    });
  }

  /** Clients that should be connected and are not. */
  get disconnected(): string[] {
    return this.#clients
      .filter(({ isWanted, record }) => isWanted !== record.isOpen)
      .map(({ record, state }) => `${record.identity.name} (${state})`);
  }

  async addTo(history: History): Promise<void> {
    history.messages = this.publishers.messages;
    history.clients = this.#clients.map(({ record }) => record.history);
    history.presence = await this.#presence();
    history.presenceEvents = await this.#readPresenceEvents();
  }

  end(): void {
    for (const client of this.#clients) client.close();
  }

  /** Users close their pages and open them again. */
  async #churn(): Promise<void> {
    while (this.#isRunning) {
      await timePasses(this.#random.between(500, 3_000));
      const client = this.#random.pick(this.#clients);
      if (client.isWanted && this.#random.chance(0.4)) client.close();
      else client.open();
    }
  }

  /** Networks lose connections, so that many clients resume during each fault. */
  async #drop(): Promise<void> {
    while (this.#isRunning) {
      await timePasses(this.#random.between(300, 1_200));
      this.#random.pick(this.#clients).drop?.();
    }
  }

  async #presence(): Promise<PresenceView[]> {
    const expected = [
      ...new Set(
        this.#clients
          .filter(({ isWanted, record }) => isWanted && !record.identity.isTemporary)
          .map(({ record }) => record.identity.userId),
      ),
    ].sort();
    return Promise.all(
      this.#world.instances.map(async ({ part, url }) => {
        const answer = await request("GET", `${url}/feign/getOnlineUsers?scope=cluster`);
        const online = Array.isArray(answer.json.data) ? answer.json.data.map(String).sort() : [];
        return { instance: part.name, online, expected };
      }),
    );
  }

  /** The events of this round, each after the last earlier one of its user. */
  async #readPresenceEvents(): Promise<History["presenceEvents"]> {
    if (!this.#world.presenceEvents) return null;
    for (const { id, userId, type, node, ts } of await this.#world.presenceEvents.readNew()) {
      const event = {
        id: String(id),
        userId: String(userId),
        type: type === "online" ? ("online" as const) : ("offline" as const),
        node: String(node),
        ts: Number(ts),
      };
      if (!this.#earlierIds.has(event.id)) this.#presenceEvents.push(event);
    }
    return [...this.#lastOfUser.values(), ...this.#presenceEvents];
  }

  #forgetPresenceEvents(): void {
    const last = new Map<string, PresenceEvent>();
    for (const event of this.#presenceEvents) {
      if (!this.#earlierIds.has(event.id)) last.set(event.userId, event);
      this.#earlierIds.add(event.id);
    }
    for (const event of this.#lastOfUser.values()) if (!last.has(event.userId)) last.set(event.userId, event);
    this.#lastOfUser = last;
    this.#presenceEvents = [];
  }
}
