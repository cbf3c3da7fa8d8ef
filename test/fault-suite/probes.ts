import type { Probe } from "./kinds/fault-kind.ts";
import { Api } from "./load/api.ts";
import type { DeployLoad } from "./load/deploy-load.ts";
import type { PushLoad } from "./load/push-load.ts";
import type { Random } from "./random.ts";
import { type Violation, violation } from "./reconciler/violation.ts";
import { type Instance, type Part, timePasses, until } from "./setups/part.ts";
import { answersReady } from "./setups/slipway-process.ts";
import type { StepName, World } from "./setups/world.ts";

const recoverLimitMs = 120_000;
const supervisorDelayMs = 1_000;
const usesAfterSilence = 4;
/** A failure may be detected late; an instance that fails this many uses while it reports ready is a violation. */
const triesWhileBroken = 4;
const betweenTriesMs = 1_000;

/** Reads the readiness of instances, and checks it by using them. */
export class Probes implements Probe {
  readonly #world: World;
  readonly #deploy: DeployLoad | undefined;
  readonly #push: PushLoad | undefined;

  constructor(world: World, deploy: DeployLoad | undefined, push: PushLoad | undefined) {
    this.#world = world;
    this.#deploy = deploy;
    this.#push = push;
  }

  /** Waits for every part, and uses each instance as soon as it reports ready. */
  async untilRecovered(isSilent: boolean): Promise<Violation[]> {
    const found = await Promise.all([
      ...this.#world.instances.map((instance) => this.#useWhenReady(instance, isSilent)),
      ...this.#world.parts.map(async (part): Promise<Violation[]> => {
        if (await until(() => this.#isSupervisedReady(part), recoverLimitMs)) return [];
        return [
          violation(
            "not-recovered",
            `${part.name} is not ready; its last lines: ${part.output().slice(-600)}`,
          ),
        ];
      }),
    ]);
    return [...found.flat(), ...((await this.#deploy?.notServing()) ?? [])];
  }

  /** Restarts parts that ended, as a supervisor does: for example a server that cannot reach its database at its start. */
  async #isSupervisedReady(part: Part): Promise<boolean> {
    if (!part.isRunning()) {
      await timePasses(supervisorDelayMs);
      if (!part.isRunning()) {
        this.#world.timeline.add(
          `${part.name} has ended: ${part.output().trim().split("\n").at(-1)?.slice(0, 200)}`,
        );
        await part.start();
      }
    }
    return part.isReady();
  }

  async untilStep(step: StepName): Promise<boolean> {
    return (await this.#deploy?.untilStep(step)) ?? false;
  }

  async beginDeploy(random: Random, project?: string): Promise<void> {
    await this.#deploy?.beginDeploy(random, project);
  }

  stepIsOver(): void {
    this.#deploy?.stepIsOver();
  }

  async whileBroken(): Promise<Violation[]> {
    const found = await Promise.all(this.#world.instances.map((instance) => this.#watchBroken(instance)));
    return found.flat();
  }

  /**
   * After a silent fault a few uses may fail, because only use detects a dead connection. A failed use is not counted if the
   * instance is no longer ready afterwards.
   */
  async #useWhenReady(instance: Instance, isSilent: boolean): Promise<Violation[]> {
    let problem: string | null = null;
    let failures = 0;
    while (failures < (isSilent ? usesAfterSilence : 1)) {
      // An instance that never becomes ready is reported elsewhere, for its part.
      if (!(await until(() => answersReady(instance.url), recoverLimitMs, 10))) return [];
      problem = await this.#use(instance);
      if (problem === null) return [];
      if (await answersReady(instance.url)) failures++;
    }
    const text = `${instance.part.name} at the moment of its first /readyz 200: ${problem}`;
    return [violation("ready-but-unusable", text)];
  }

  async #watchBroken(instance: Instance): Promise<Violation[]> {
    let problem = "";
    for (let attempt = 0; attempt < triesWhileBroken; attempt++) {
      const wasReady = await answersReady(instance.url);
      const answer = wasReady ? await this.#use(instance) : null;
      if (answer === null || !(await answersReady(instance.url))) return [];
      problem = answer;
      await timePasses(betweenTriesMs);
    }
    return [violation("ready-but-unusable", `${instance.part.name} stays ready: ${problem}`)];
  }

  /** Null: it worked. */
  async #use(instance: Instance): Promise<string | null> {
    const delivery = await this.#deploy?.probe(instance);
    if (delivery && delivery.status !== 200 && delivery.status !== 202)
      return `a delivery was answered ${delivery.status} ${delivery.code}`;
    if (this.#deploy) {
      const { status } = await Api.signIn(instance);
      if (status !== 200) return `a login was answered ${status}`;
    }
    const published = await this.#push?.probe(instance);
    if (published !== undefined && published !== 200) return `a publish was answered ${published}`;
    return null;
  }
}
