import type { Probe } from "./kinds/fault-kind.ts";
import { Api } from "./load/api.ts";
import type { DeployLoad } from "./load/deploy-load.ts";
import type { PushLoad } from "./load/push-load.ts";
import { type Violation, violation } from "./reconciler/violation.ts";
import { type Instance, type Part, until } from "./setups/part.ts";
import { answersReady } from "./setups/slipway-process.ts";
import type { World } from "./setups/world.ts";

const recoverLimitMs = 120_000;
const supervisorDelayMs = 1_000;
const usesAfterSilence = 4;
/** A part that broke a moment ago may be noticed late; one that is broken for this many tries is reported wrongly. */
const triesWhileBroken = 4;
const betweenTriesMs = 1_000;

/** Asks instances whether they are ready, and then whether that is true. */
export class Probes implements Probe {
  readonly #world: World;
  readonly #deploy: DeployLoad | undefined;
  readonly #push: PushLoad | undefined;

  constructor(world: World, deploy: DeployLoad | undefined, push: PushLoad | undefined) {
    this.#world = world;
    this.#deploy = deploy;
    this.#push = push;
  }

  /** Waits for every part, and uses each instance at the moment in which it says that it is ready. */
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
    return found.flat();
  }

  /** What ended by itself, as a server that does not reach its database at its start, is started again as a supervisor does. */
  async #isSupervisedReady(part: Part): Promise<boolean> {
    if (!part.isRunning()) {
      await Bun.sleep(supervisorDelayMs);
      if (!part.isRunning()) {
        this.#world.timeline.add(
          `${part.name} has ended: ${part.output().trim().split("\n").at(-1)?.slice(0, 200)}`,
        );
        await part.start();
      }
    }
    return part.isReady();
  }

  async whileBroken(): Promise<Violation[]> {
    const found = await Promise.all(this.#world.instances.map((instance) => this.#watchBroken(instance)));
    return found.flat();
  }

  /**
   * After a silent fault a few uses may fail, because a connection that is dead is found by them. An instance that is not
   * ready any more when its use has failed did not pretend.
   */
  async #useWhenReady(instance: Instance, isSilent: boolean): Promise<Violation[]> {
    let problem: string | null = null;
    let failures = 0;
    while (failures < (isSilent ? usesAfterSilence : 1)) {
      // That it never becomes ready is reported for the part.
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
      await Bun.sleep(betweenTriesMs);
    }
    return [violation("ready-but-unusable", `${instance.part.name} stays ready: ${problem}`)];
  }

  /** What did not work, or null. */
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
