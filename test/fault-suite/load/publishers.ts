import { randomUUID } from "node:crypto";
import type { Random } from "../random.ts";
import type { PublishedMessage, TargetType } from "../reconciler/history.ts";
import type { Instance } from "../setups/part.ts";
import { timePasses } from "../setups/part.ts";
import { elapsedMs } from "../timeline.ts";
import { request } from "./http.ts";

export interface Target {
  targetType: TargetType;
  target: string;
}

/** Well below the five minutes for which an Idempotency-Key is valid. */
const repeatWithinMs = 200_000;
const giveUpAfterMs = 60_000;
const longestPauseMs = 500;

/** One lane for each target, so that the order of its messages is known. */
export class Publishers {
  readonly #instances: Instance[];
  readonly #random: Random;
  #round: PublishedMessage[] = [];
  /** Acknowledged messages with a key, which may be sent again. */
  #repeatable: PublishedMessage[] = [];
  #numbers = 0;
  #isRunning = false;
  #lanes: Promise<unknown> = Promise.resolve();

  constructor(instances: Instance[], random: Random) {
    this.#instances = instances;
    this.#random = random;
  }

  get messages(): PublishedMessage[] {
    return this.#round;
  }

  start(targets: Target[]): void {
    this.#round = [];
    this.#isRunning = true;
    this.#lanes = Promise.all(targets.map((target) => this.#lane(target)));
  }

  /** Resolves when the last message is answered. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#lanes;
  }

  /** One message, once, through this instance; for probes. */
  async publishOnce(instance: Instance, target: Target): Promise<number> {
    const message = this.#next(target, null);
    await this.#attempt(message, instance);
    return message.attempts.at(-1)?.status ?? 0;
  }

  async #lane(target: Target): Promise<void> {
    while (this.#isRunning) {
      const message = this.#next(target, this.#random.chance(0.5) ? randomUUID() : null);
      await this.#attempt(message, this.#random.pick(this.#instances));
      if (message.key !== null) await this.#publishUntilAnswered(message);
      if (this.#random.chance(0.1)) await this.#repeatOne(target);
      await timePasses(this.#random.between(50, longestPauseMs));
    }
  }

  #next({ targetType, target }: Target, key: string | null): PublishedMessage {
    const message: PublishedMessage = { number: ++this.#numbers, targetType, target, key, attempts: [] };
    this.#round.push(message);
    return message;
  }

  /** Repeats with the same key until there is a response, as publishers should. */
  async #publishUntilAnswered(message: PublishedMessage): Promise<void> {
    const beganAt = elapsedMs();
    while (message.attempts.at(-1)?.status !== 200) {
      if (elapsedMs() - beganAt > giveUpAfterMs) return;
      await timePasses(this.#random.between(100, longestPauseMs));
      await this.#attempt(message, this.#random.pick(this.#instances));
    }
    this.#repeatable.push(message);
  }

  /** A publisher that did not get the response, perhaps because of a restart, and repeats its message. */
  async #repeatOne({ targetType, target }: Target): Promise<void> {
    const oldest = elapsedMs() - repeatWithinMs;
    this.#repeatable = this.#repeatable.filter(({ attempts }) => (attempts[0]?.sentAt ?? 0) > oldest);
    const candidates = this.#repeatable.filter(
      (message) => message.targetType === targetType && message.target === target,
    );
    if (candidates.length === 0) return;
    const message = this.#random.pick(candidates);
    if (!this.#round.includes(message)) this.#round.push(message);
    await this.#attempt(message, this.#random.pick(this.#instances));
  }

  async #attempt(message: PublishedMessage, instance: Instance): Promise<void> {
    const { number, targetType, target, key } = message;
    const sentAt = elapsedMs();
    const answer = await request("POST", `${instance.front}/feign/publish`, {
      body: { targetType, target, data: JSON.stringify({ number }) },
      headers: key === null ? {} : { "idempotency-key": key },
    });
    message.attempts.push({
      gateway: instance.part.name,
      sentAt,
      endedAt: elapsedMs(),
      status: answer.status,
      id: answer.status === 200 ? answer.headers.get("x-push-id") : null,
    });
  }
}
