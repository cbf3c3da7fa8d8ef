import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unreadableDuring } from "./kinds/fault-kind.ts";
import { Api } from "./load/api.ts";
import { makeCommits } from "./load/commits.ts";
import { DeployLoad } from "./load/deploy-load.ts";
import { PushLoad } from "./load/push-load.ts";
import { Probes } from "./probes.ts";
import { Random } from "./random.ts";
import { emptyHistory, type FaultWindow, type History } from "./reconciler/history.ts";
import { reconcile } from "./reconciler/reconcile.ts";
import { longestTimes } from "./reconciler/services.ts";
import { isFinal, type Violation, violation } from "./reconciler/violation.ts";
import { type RoundResult, violationLines } from "./results.ts";
import { faultsOfRound, type ScheduledFault } from "./schedule.ts";
import { timePasses, until } from "./setups/part.ts";
import { makeWorld } from "./setups/table.ts";
import type { SetupName, World } from "./setups/world.ts";
import { surround } from "./surroundings.ts";
import { elapsedMs, Timeline } from "./timeline.ts";

export interface SetupRun {
  setup: SetupName;
  program: string;
  seed: number;
  wanted: string[];
  firstRound: number;
  /** null: until the duration is over. */
  lastRound: number | null;
  durationMs: number;
  /** Folder for the logs of a round with violations. */
  logs: string;
  print(line: string): void;
  onRound(result: RoundResult): void;
}

/** On a busy machine a queue may empty slowly: what still changes has not stopped. */
const unchangedLimitMs = 90_000;
const settleLimitMs = 10 * 60_000;
const noteEveryMs = 15_000;
const warmUpMs = 1_500;
const betweenFaultsMs = 500;
/** Faults must also hit what happens once, such as the first deploy of a project. */
const roundsPerWorld = 4;

/**
 * Starts a set-up and runs its rounds. After some rounds it starts a new set-up; also after a violation, so that violations
 * are independent.
 */
export async function runSetup(run: SetupRun): Promise<void> {
  const timeline = new Timeline((line) => run.print(`${run.setup.padEnd(8)} ${line}`));
  const endAt = elapsedMs() + run.durationMs;
  let round = run.firstRound;
  while (!isOver(run, round, endAt)) round = await runWorld(run, timeline, round, endAt);
}

function isOver({ lastRound }: SetupRun, round: number, endAt: number): boolean {
  return lastRound === null ? elapsedMs() > endAt : round > lastRound;
}

/** Returns the number of the next round. */
async function runWorld(
  run: SetupRun,
  timeline: Timeline,
  firstRound: number,
  endAt: number,
): Promise<number> {
  const around = await surround(run.setup, run.program, timeline);
  let world: World | undefined;
  try {
    world = await makeWorld(run.setup, around);
    timeline.add("the set-up runs");
    const random = new Random(run.seed, run.setup, "load", firstRound);
    const hasServers = world.instances.some(({ part }) => part.role === "server");
    const deploy = hasServers
      ? new DeployLoad(world, random, {
          api: new Api(world.instances),
          commits: await makeCommits(around.folder),
          receiver: around.receiver,
        })
      : undefined;
    await deploy?.prepare(around.receiverLink.url);
    // Without a broker two servers are two separate gateways: there is no cluster to publish to.
    const push = run.setup === "postgres" ? undefined : new PushLoad(world, random);
    const next = await new Rounds(run, world, timeline, deploy, push).run(firstRound, endAt);
    deploy?.end();
    push?.end();
    return next;
  } finally {
    await world?.stop();
    await around.stop();
  }
}

class Rounds {
  readonly #run: SetupRun;
  readonly #world: World;
  readonly #timeline: Timeline;
  readonly #deploy: DeployLoad | undefined;
  readonly #push: PushLoad | undefined;
  readonly #probes: Probes;

  constructor(
    run: SetupRun,
    world: World,
    timeline: Timeline,
    deploy: DeployLoad | undefined,
    push: PushLoad | undefined,
  ) {
    this.#run = run;
    this.#world = world;
    this.#timeline = timeline;
    this.#deploy = deploy;
    this.#push = push;
    this.#probes = new Probes(world, deploy, push);
  }

  /** Returns the number of the next round. */
  async run(firstRound: number, endAt: number): Promise<number> {
    const { lastRound, onRound } = this.#run;
    let round = firstRound;
    while (round < firstRound + roundsPerWorld && !isOver(this.#run, round, endAt)) {
      const result = await this.#round(round, lastRound === null ? endAt : Number.POSITIVE_INFINITY);
      onRound(result);
      round++;
      if (result.violations.length > 0) break;
    }
    return round;
  }

  async #round(round: number, endAt: number): Promise<RoundResult> {
    const { setup, seed, wanted } = this.#run;
    const beganAt = elapsedMs();
    this.#timeline.add(`round ${round} begins`);
    const random = new Random(seed, setup, "round", round);
    const windows: FaultWindow[] = [];
    const violations: Violation[] = [];
    this.#deploy?.start();
    this.#push?.start();
    await timePasses(warmUpMs);
    for (const fault of faultsOfRound(this.#world, seed, round, wanted)) {
      if (elapsedMs() > endAt) break;
      violations.push(...(await this.#inject(fault, random, windows)));
      await timePasses(betweenFaultsMs);
    }
    await Promise.all([this.#deploy?.stop(), this.#push?.stop()]);
    this.#timeline.add("the load has stopped");
    const { history, problems } = await this.#settle(beganAt, windows);
    violations.push(...problems, ...reconcile(history));
    this.#deploy?.endRound(history);
    if (violations.length > 0) this.#keepEvidence(round, history);
    for (const line of violationLines(violations)) this.#timeline.add(`VIOLATION ${line}`);
    this.#timeline.add(`round ${round} is over: ${windows.length} faults, ${violations.length} violations`);
    return {
      setup,
      seed,
      round,
      wanted,
      finishedAt: new Date().toISOString(),
      seconds: Math.round((elapsedMs() - beganAt) / 100) / 10,
      faults: windows.map(({ kind, target, from, to }) => ({
        kind,
        target,
        seconds: Math.round((to - from) / 100) / 10,
      })),
      load: loadOf(history),
      longest: longestTimes(history),
      violations,
      timeline: violations.length > 0 ? this.#timeline.since(beganAt) : [],
    };
  }

  /** Copies the history and the logs of all parts next to the results, because the folder of the run is deleted. */
  #keepEvidence(round: number, history: History): void {
    const { setup, seed, logs } = this.#run;
    const folder = join(logs, `${setup}-${seed}-${round}`);
    mkdirSync(folder, { recursive: true });
    for (const file of readdirSync(this.#world.folder).filter((name) => name.endsWith(".log")))
      copyFileSync(join(this.#world.folder, file), join(folder, file));
    writeFileSync(join(folder, "history.json"), JSON.stringify(history, null, 1));
    this.#timeline.add(`history and logs are in ${folder}`);
  }

  async #inject(
    { kind, target }: ScheduledFault,
    random: Random,
    windows: FaultWindow[],
  ): Promise<Violation[]> {
    this.#timeline.add(`${kind.name}: ${target}`);
    const window: FaultWindow = {
      kind: kind.name,
      target,
      from: elapsedMs(),
      to: Number.POSITIVE_INFINITY,
      unreadable: unreadableDuring(this.#world, kind, target),
      breaksLogFile: kind.breaksLogFile ?? false,
      sparesRunners: kind.sparesRunners?.(target) ?? false,
    };
    windows.push(window);
    const found: Violation[] = this.#world.parts
      .filter((part) => !part.isRunning() && part.name !== "local runner")
      .map((part) =>
        violation("not-recovered", `${part.name} has ended by itself: ${part.output().slice(-300)}`),
      );
    const pids = this.#ownPids();
    try {
      found.push(...((await kind.inject(this.#world, target, random, this.#probes)) ?? []));
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      found.push(violation("not-recovered", `${kind.name} of ${target} could not end: ${text}`));
    }
    found.push(...(await this.#probes.untilRecovered(kind.isSilent ?? false)));
    for (const [name, pid] of kind.endsOthers ? [] : this.#ownPids())
      if (name !== target && pids.get(name) !== pid)
        found.push(violation("not-recovered", `${name} ended because of ${kind.name} of ${target}`));
    window.to = elapsedMs();
    for (const { promise, text } of found) this.#timeline.add(`found ${promise}: ${text}`);
    this.#timeline.add(`recovered ${((window.to - window.from) / 1000).toFixed(1)} s after the beginning`);
    return found;
  }

  /** Servers, gateways and remote runners; the server starts a local runner again by itself. */
  #ownPids(): Map<string, number | undefined> {
    const own = this.#world.parts.filter(
      ({ name, role }) => ["server", "gateway", "runner"].includes(role) && name !== "local runner",
    );
    return new Map(own.map((part) => [part.name, part.pids()[0]]));
  }

  /** Waits until everything that was acknowledged has happened, up to a limit. */
  async #settle(from: number, faults: FaultWindow[]): Promise<{ history: History; problems: Violation[] }> {
    let history = emptyHistory();
    let problems: string[] = [];
    let nextNoteAt = elapsedMs() + noteEveryMs;
    let lastNotes = "";
    let changedAt = elapsedMs();
    let isSettled = false;
    await until(
      async () => {
        try {
          history = { ...emptyHistory(), from, faults };
          await this.#deploy?.addTo(history);
          await this.#push?.addTo(history);
          const open = reconcile(history).filter((each) => !isFinal(each));
          problems = (this.#push?.disconnected ?? []).map((client) => `${client} is not connected`);
          const notes = [...problems, ...open.map(({ promise, text }) => `${promise}: ${text}`)];
          if (notes.join() !== lastNotes) changedAt = elapsedMs();
          lastNotes = notes.join();
          if (elapsedMs() > nextNoteAt && notes.length > 0) {
            nextNoteAt = elapsedMs() + noteEveryMs;
            this.#timeline.add(`not settled: ${notes.length}, ${notes.slice(0, 4).join("; ")}`);
          }
          isSettled = notes.length === 0;
        } catch (error) {
          problems = [`the result cannot be read: ${error instanceof Error ? error.message : String(error)}`];
        }
        return isSettled || elapsedMs() - changedAt > unchangedLimitMs;
      },
      settleLimitMs,
      700,
    );
    return { history, problems: problems.map((text) => violation("not-recovered", text)) };
  }
}

function loadOf({ messages, clients, deliveries, tasks, notifications }: History): Record<string, number> {
  return {
    publishes: messages.reduce((sum, { attempts }) => sum + attempts.length, 0),
    "messages received": clients.reduce(
      (sum, { events }) => sum + events.filter(({ type }) => type === "message").length,
      0,
    ),
    connections: clients.reduce(
      (sum, { events }) => sum + events.filter(({ type }) => type === "open").length,
      0,
    ),
    "recovered resumes": clients.reduce(
      (sum, { events }) =>
        sum + events.filter((event) => event.type === "open" && event.resumedFrom && event.recovered).length,
      0,
    ),
    deliveries: deliveries.length,
    tasks: tasks.length,
    notifications: notifications.length,
  };
}
