import { Random } from "../fault-suite/random.ts";
import { SimulatedInstance, type Surroundings, type ToldEvent } from "./simulated-instance.ts";

const stepMs = 100;
/** An instance that receives from another one for this long has its reports. */
const learnsWithinMs = 3_000;
/** A process that cannot end in order is killed. */
const killedAfterMs = 10_000;

interface User {
  wants: boolean;
  on: SimulatedInstance | null;
  retryAtMs: number;
  leavesAtMs: number;
}

/**
 * A cluster with its broker, clients and faults as a simulation in steps of 100 ms: one seed is one schedule. The broker
 * keeps one order of control messages, as Kafka and RabbitMQ do. A fault never takes the last instance that knows all
 * reports; more is not promised.
 */
export class PresenceWorld {
  readonly timeline: string[] = [];
  readonly told: ToldEvent[] = [];
  readonly #random: Random;
  readonly #instances = new Map<string, SimulatedInstance>();
  readonly #users = new Map<string, User>();
  readonly #startAtMs = new Map<string, number>();
  readonly #startedMs = Date.UTC(2026, 0, 1);
  readonly #surroundings: Surroundings;
  #nowMs = this.#startedMs;
  #starts = 0;
  #outageUntilMs = 0;

  constructor(seed: number) {
    this.#random = new Random(seed);
    for (const userId of ["ann", "ben", "cid", "dan"])
      this.#users.set(userId, { wants: false, on: null, retryAtMs: 0, leavesAtMs: Number.POSITIVE_INFINITY });
    this.#surroundings = {
      random: this.#random,
      now: () => this.#nowMs,
      isBrokerAway: () => this.#nowMs < this.#outageUntilMs,
      fanOut: (message) => {
        for (const instance of this.#instances.values()) instance.send(message);
      },
      told: (event) => {
        this.told.push(event);
        this.#note(`${event.node} reports ${event.type} ${event.userId} ${event.id.slice(-6)}`);
      },
      note: (text) => this.#note(text),
    };
  }

  /** Runs faults for a time, then waits as long as it may take until all agree. */
  async run(forMs: number): Promise<void> {
    for (const name of ["a", "b", "c"]) this.#start(name);
    await this.#pass(15_000, true);
    for (const instance of this.#instances.values()) instance.knows = true;
    const endMs = this.#nowMs + forMs;
    while (this.#nowMs < endMs) {
      const [min, max] = this.#random.chance(0.5) ? [100, 2_000] : [2_000, 12_000];
      await this.#pass(this.#random.between(min, max), true);
      this.#fault();
    }
    this.#note("the faults end");
    await this.#pass(70_000, false);
  }

  /** Violations of the promises to readers of the events. */
  problems(): string[] {
    const found: string[] = [];
    const seen = new Set<string>();
    const last = new Map<string, string>();
    for (const { id, type, userId } of this.told) {
      if (seen.has(id)) continue;
      seen.add(id);
      if ((last.get(userId) ?? "offline") === type)
        found.push(`${type} ${userId} is repeated as ${id.slice(-6)}`);
      last.set(userId, type);
    }
    const online = [...this.#users].filter(([, { on }]) => on !== null).map(([userId]) => userId);
    for (const userId of this.#users.keys()) {
      const type = online.includes(userId) ? "online" : "offline";
      if ((last.get(userId) ?? "offline") !== type) found.push(`the last event of ${userId} is not ${type}`);
    }
    for (const { name, presence } of this.#instances.values()) {
      const known = presence.onlineUsers().sort().join();
      if (known !== online.join()) found.push(`${name} says ${known} are online, not ${online}`);
    }
    return found;
  }

  #note(text: string): void {
    this.timeline.push(`${((this.#nowMs - this.#startedMs) / 1000).toFixed(1)} ${text}`);
  }

  #start(name: string): void {
    this.#starts += 1;
    this.#instances.set(name, new SimulatedInstance(name, `boot-${this.#starts}`, this.#surroundings));
    this.#note(`${name} starts`);
  }

  async #pass(ms: number, mayChange: boolean): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) await this.#step(mayChange);
  }

  async #step(mayChange: boolean): Promise<void> {
    this.#nowMs += stepMs;
    for (const [name, atMs] of this.#startAtMs) {
      if (this.#nowMs < atMs) continue;
      this.#startAtMs.delete(name);
      this.#start(name);
    }
    for (const instance of this.#instances.values()) {
      instance.step();
      const { leavingSinceMs, hasLeft } = instance;
      if (hasLeft || (leavingSinceMs !== null && this.#nowMs - leavingSinceMs > killedAfterMs))
        this.#remove(instance);
    }
    await new Promise((resolve) => setImmediate(resolve));
    this.#moveUsers(mayChange);
    this.#learn();
  }

  #moveUsers(mayChange: boolean): void {
    for (const [userId, user] of this.#users) {
      if (mayChange && this.#random.chance(stepMs / 20_000)) user.wants = !user.wants;
      // Clients detect after some seconds that their instance does not respond.
      if (!user.on?.isStopped) user.leavesAtMs = Number.POSITIVE_INFINITY;
      else if (user.leavesAtMs === Number.POSITIVE_INFINITY)
        user.leavesAtMs = this.#nowMs + this.#random.between(2_000, 12_000);
      if (user.on && (!user.wants || this.#nowMs >= user.leavesAtMs)) this.#disconnect(userId, user, 0);
      if (!user.wants || user.on || this.#nowMs < user.retryAtMs) continue;
      const open = [...this.#instances.values()].filter(({ isOpen }) => isOpen);
      if (open.length === 0) continue;
      user.on = this.#random.pick(open);
      user.on.open(userId);
    }
  }

  #disconnect(userId: string, user: User, minRetryMs: number): void {
    user.on?.close(userId);
    user.on = null;
    user.retryAtMs = this.#nowMs + this.#random.between(minRetryMs, 1_500);
  }

  #remove(instance: SimulatedInstance): void {
    this.#instances.delete(instance.name);
    instance.end();
    for (const user of this.#users.values()) {
      if (user.on !== instance) continue;
      user.on = null;
      user.retryAtMs = this.#nowMs + this.#random.between(100, 1_500);
    }
    this.#startAtMs.set(instance.name, this.#nowMs + this.#random.between(100, 5_000));
  }

  /** An instance that another one could reach for long enough has its reports. */
  #learn(): void {
    const all = [...this.#instances.values()];
    for (const instance of all) if (!instance.isHealthy) instance.healthySinceMs = this.#nowMs;
    const teachers = all.filter(({ knows, isHealthy }) => knows && isHealthy);
    for (const instance of all)
      instance.knows ||= teachers.some(
        ({ healthySinceMs }) =>
          this.#nowMs - Math.max(healthySinceMs, instance.healthySinceMs) >= learnsWithinMs,
      );
  }

  #fault(): void {
    const all = [...this.#instances.values()];
    const running = all.filter(({ leavingSinceMs }) => leavingSinceMs === null);
    // After an outage the instances must compare their reports first.
    if (running.length === 0 || this.#nowMs < this.#outageUntilMs + learnsWithinMs) return;
    const instance = this.#random.pick(running);
    const usual = ["kill", "terminate", "stop"];
    const kind = this.#random.pick([...usual, ...usual, "cut", "black hole", "slow", "outage"] as const);
    const lastsMs = this.#random.between(500, this.#random.chance(0.5) ? 4_000 : 25_000);
    if (kind === "outage") {
      if (!all.every(({ isHealthy }) => isHealthy)) return;
      this.#note(`the broker is away for ${lastsMs} ms`);
      this.#outageUntilMs = this.#nowMs + lastsMs;
      for (const each of all) each.keepsQueue = true;
    } else if (all.some((other) => other !== instance && other.knows && other.isHealthy))
      this.#harm(instance, kind, lastsMs);
  }

  #harm(instance: SimulatedInstance, kind: string, lastsMs: number): void {
    this.#note(`${instance.name}: ${kind} for ${lastsMs} ms`);
    const untilMs = this.#nowMs + lastsMs;
    if (kind === "kill") this.#remove(instance);
    else if (kind === "terminate") {
      for (const [userId, user] of this.#users) if (user.on === instance) this.#disconnect(userId, user, 100);
      instance.leave();
    } else {
      instance.knows = false;
      if (kind === "stop") {
        instance.stoppedUntilMs = Math.max(instance.stoppedUntilMs, untilMs);
        // The broker drops a consumer that does not respond.
        if (lastsMs > 8_000 && this.#random.chance(0.5))
          instance.breakLink("cut", instance.stoppedUntilMs + this.#random.between(0, 2_000));
      } else if (kind === "slow") {
        instance.delayMs = this.#random.between(500, 3_000);
        instance.linkUntilMs = untilMs;
      } else instance.breakLink(kind === "cut" ? "cut" : "black hole", untilMs);
    }
  }
}
