import type { Bus, BusMessage } from "../../src/bus/bus.ts";
import { localBus } from "../../src/bus/local.ts";
import { type ControlMessage, presenceEventId } from "../../src/push/message/message.ts";
import { ClusterPresence } from "../../src/push/presence/cluster-presence.ts";
import type { Random } from "../fault-suite/random.ts";

export type PresenceMessage = ControlMessage & { type: "presence" };

/** An event as its readers get it. */
export interface ToldEvent {
  node: string;
  id: string;
  type: string;
  userId: string;
}

export interface Surroundings {
  now(): number;
  random: Random;
  isBrokerAway(): boolean;
  /** The broker accepts a control message. */
  fanOut(message: PresenceMessage): void;
  /** The broker accepts an event. */
  told(event: ToldEvent): void;
  note(text: string): void;
}

/** A pending request to the broker. */
interface Request {
  dueMs: number;
  refusedMs: number;
  take(): void;
  resolve(): void;
  reject(error: Error): void;
}

const tickMs = 500;
const refusedAfterMs = 5_000;
const usualDelayMs = 30;

/** One process of a simulated cluster with its connection to the broker. */
export class SimulatedInstance {
  readonly name: string;
  readonly presence: ClusterPresence;
  readonly readyAtMs: number;
  stoppedUntilMs = 0;
  link: "whole" | "cut" | "black hole" = "whole";
  linkUntilMs = 0;
  delayMs = usualDelayMs;
  /** Whether the broker keeps messages for it while the connection is broken. */
  keepsQueue = false;
  leavingSinceMs: number | null = null;
  hasLeft = false;
  /** Whether it must know all reports, and since when it could get them. */
  knows = false;
  healthySinceMs: number;
  readonly #world: Surroundings;
  readonly #here = new Map<string, number>();
  /** Connections that clients closed while the process was stopped. */
  readonly #closing: string[] = [];
  #inbox: { atMs: number; message: PresenceMessage }[] = [];
  #requests: Request[] = [];
  #nextTickMs: number;

  constructor(name: string, boot: string, world: Surroundings) {
    this.name = name;
    this.#world = world;
    this.healthySinceMs = world.now();
    this.readyAtMs = world.now() + world.random.between(0, 2_000);
    this.#nextTickMs = world.now() + world.random.between(0, tickMs);
    const clock = { now: () => world.now(), elapsed: () => world.now() };
    let ids = 0;
    this.presence = new ClusterPresence({
      bus: this.#bus(),
      node: name,
      boot,
      newId: () => `${boot}-${++ids}`,
      isOnlineHere: (userId) => (this.#here.get(userId) ?? 0) > 0,
      clock,
      steady: clock,
      beatMs: 5_000,
      graceMs: 5_000,
      publishEvent: (type, userId, occasion) => {
        const id = presenceEventId(type, userId, occasion);
        return this.#request(() => world.told({ node: name, id, type, userId }));
      },
      onEventsLost: () => world.note(`${name} gave events up`),
    });
  }

  get isStopped(): boolean {
    return this.#world.now() < this.stoppedUntilMs;
  }

  get isOpen(): boolean {
    return !this.isStopped && this.leavingSinceMs === null && this.#world.now() >= this.readyAtMs;
  }

  get isHealthy(): boolean {
    return this.isOpen && this.link === "whole" && this.delayMs < 500;
  }

  get #reachesBroker(): boolean {
    return this.link === "whole" && !this.#world.isBrokerAway();
  }

  #bus(): Bus {
    return {
      ...localBus(),
      state: () => ({ ready: this.#isReady(), detail: "" }),
      publish: (_topic, _key, message: BusMessage) => {
        const copy = JSON.parse(JSON.stringify(message)) as PresenceMessage;
        return this.#request(() => this.#world.fanOut(copy));
      },
    };
  }

  /** A black hole is detected only by requests without a response. */
  #isReady(): boolean {
    return this.#world.now() >= this.readyAtMs && !this.#world.isBrokerAway() && this.link !== "cut";
  }

  #request(take: () => void): Promise<void> {
    const { random, now } = this.#world;
    return new Promise((resolve, reject) => {
      if (!this.#isReady()) return reject(new Error("the queue is away"));
      const dueMs = now() + random.between(0, this.delayMs);
      this.#requests.push({ dueMs, refusedMs: now() + refusedAfterMs, take, resolve, reject });
    });
  }

  /** A message of the broker to this instance. */
  send(message: PresenceMessage): void {
    const { random, now } = this.#world;
    if (now() < this.readyAtMs || (!this.#reachesBroker && !this.keepsQueue)) return;
    this.#inbox.push({ atMs: now() + random.between(0, this.delayMs), message });
  }

  breakLink(link: "cut" | "black hole", untilMs: number): void {
    const keeps = this.#world.random.chance(0.5);
    // A lost message stays lost.
    this.keepsQueue = keeps && (this.link === "whole" || this.keepsQueue);
    this.link = link;
    this.linkUntilMs = untilMs;
  }

  open(userId: string): void {
    this.#here.set(userId, (this.#here.get(userId) ?? 0) + 1);
    this.presence.opened(userId);
    this.#world.note(`${userId} connects to ${this.name}`);
  }

  close(userId: string): void {
    if (this.isStopped) {
      this.#closing.push(userId);
      return;
    }
    this.#here.set(userId, (this.#here.get(userId) ?? 1) - 1);
    this.presence.closed(userId);
    this.#world.note(`${userId} is disconnected from ${this.name}`);
  }

  leave(): void {
    this.leavingSinceMs = this.#world.now();
    void this.presence.leave().then(() => {
      this.hasLeft = true;
    });
  }

  /** The process has ended; the broker may still accept what was sent. */
  end(): void {
    for (const { take } of this.#requests) if (this.#world.random.chance(0.5) && this.#reachesBroker) take();
  }

  step(): void {
    if (this.isStopped) return;
    this.#mend();
    const parts = [() => this.#closeAll(), () => this.#hear(), () => this.#tick()];
    if (this.#world.random.chance(0.3)) parts.reverse();
    for (const part of parts) part();
    this.#answerRequests();
  }

  #mend(): void {
    if (this.#world.now() < this.linkUntilMs) return;
    this.delayMs = usualDelayMs;
    if (this.link === "whole") return;
    this.link = "whole";
    this.#world.note(`${this.name} is connected again`);
    if (this.keepsQueue) return;
    this.#inbox = [];
    this.presence.reportLoss();
  }

  #closeAll(): void {
    for (const userId of this.#closing.splice(0)) this.close(userId);
  }

  #hear(): void {
    const nowMs = this.#world.now();
    while (this.#reachesBroker && this.#inbox[0] && this.#inbox[0].atMs <= nowMs) {
      const next = this.#inbox.shift();
      if (next) this.presence.receive(next.message);
    }
  }

  #tick(): void {
    const nowMs = this.#world.now();
    if (nowMs < this.#nextTickMs || this.leavingSinceMs !== null) return;
    this.#nextTickMs = nowMs + tickMs;
    this.presence.tick(nowMs);
  }

  #answerRequests(): void {
    const nowMs = this.#world.now();
    const waiting = this.#requests;
    this.#requests = [];
    for (const request of waiting) {
      if (this.#requests.length === 0 && request.dueMs <= nowMs && this.#reachesBroker) {
        request.take();
        request.resolve();
      } else if (request.refusedMs <= nowMs || this.link === "cut") {
        // The broker may have accepted it although its response was lost.
        if (this.link === "cut" && this.#world.random.chance(0.5)) request.take();
        request.reject(new Error("no answer"));
      } else this.#requests.push(request);
    }
  }
}
