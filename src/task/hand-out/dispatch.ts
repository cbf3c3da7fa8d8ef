import { Fault } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { labelsOf, type Runner, seenWithinMs } from "../../model/runner.ts";
import { withHandedOut } from "../../model/stage/task-stages.ts";
import type { Store } from "../../model/store.ts";
import type { Task, TaskClaim } from "../../model/task.ts";
import { newReason, type Reason, renderReason } from "../../reason/reason.ts";
import { reasonOf } from "../../reason/said-reason.ts";
import {
  type ClaimRequest,
  claimWaitMs,
  type Held,
  type HelloAnswer,
  type RunTask,
  runnerFeatures,
  type WireService,
} from "../../runner/protocol.ts";
import { hashToken, randomToken } from "../../secrets.ts";
import { version as serverVersion } from "../../version.ts";
import { needsApproval, prepareApproval, stepOf } from "../approval/request-approval.ts";
import { announceDecided } from "../events/announce-decided.ts";
import type { TaskEvents } from "../events/task-events.ts";
import { queueTopic, type Wakeups } from "../events/wakeups.ts";
import type { WatchedTime } from "../notify/watched-time.ts";
import { claimTask, giveBackTask, refuseTask } from "../queue.ts";
import { taskTraceFields } from "../view/task-trace.ts";
import { type InstructionParts, instructionFor, Undeliverable } from "./instruction.ts";
import { adoptPipeline } from "./report-pipeline.ts";

export interface DispatchParts extends Omit<InstructionParts, "keepers" | "now"> {
  store: Store;
  events: TaskEvents;
  wakeups: Wakeups;
  watched: Pick<WatchedTime, "ms">;
  /** The setting routes.anyDomain. */
  anyDomain: boolean;
  log: Logger;
}

/** Other instances do not notify this one of new tasks, so a waiting claim reads the queue this often. */
const lookEveryMs = 1000;
const leaseBytes = 24;
const maxClaimAttempts = 3;

/** Hands queued tasks to runners that request work. */
export function buildDispatch(parts: DispatchParts) {
  const { store, wakeups, limits } = parts;
  const closing = new AbortController();

  async function claimOnce(runner: Runner, request: ClaimRequest): Promise<RunTask | null> {
    const lease = randomToken(leaseBytes);
    const now = store.now();
    const task = await claimed({
      runnerId: runner.id,
      ...goneAt(now),
      leaseHash: hashToken(lease),
      leaseUntil: new Date(now.getTime() + limits.leaseMs),
      now,
    });
    if (!task) {
      await mustBeActive(runner);
      return null;
    }
    try {
      await mustBeActive(runner, task.serviceAction !== null);
      const prepared = await preparedForApproval(task);
      if (prepared.state === "waiting") return claimOnce(runner, request);
      if (hasKnownPipeline(prepared)) await adopt(prepared);
      const instruction = await instructionFor(prepared, lease, { ...parts, keepers: store, now });
      if (!request.containers && needsContainers(instruction)) {
        // The project was changed since the claim. This runner would run the script without its container.
        await giveBack({ taskId: task.id, lease });
        return null;
      }
      parts.events.changed(await withSteps(prepared, instruction));
      return instruction;
    } catch (error) {
      if (!(error instanceof Undeliverable)) {
        await giveBack({ taskId: task.id, lease });
        throw error;
      }
      await refuse({ taskId: task.id, lease }, error.reason);
      return claimOnce(runner, request);
    }
  }

  /** Stores the steps of the instruction, if the project was changed since the task was created. */
  async function withSteps(task: Task, instruction: RunTask): Promise<Task> {
    const stages = withHandedOut(task.stages, handedOut(instruction));
    if (JSON.stringify(stages) === JSON.stringify(task.stages)) return task;
    return (await store.tasks.change(task.id, { whileIn: ["dispatched"], set: { stages } })) ?? task;
  }

  /** A deploy that needs an approval is only built for now, or waits at once if its release is kept. */
  async function preparedForApproval(claimed: Task): Promise<Task> {
    const project = await store.projects.byId(claimed.projectId);
    const isRequest = project !== null && needsApproval(claimed, project);
    if (!isRequest && stepOf(claimed) !== "deploy") return claimed;
    const prepared = await store.run(prepareApproval, {
      id: claimed.id,
      consoleUrl: parts.events.consoleUrl(),
    });
    if (prepared === null) throw new Undeliverable("The task or its project has been deleted.");
    const { task, line, calls } = prepared;
    if (line) parts.events.logged(task, [line]);
    if (task.state === "waiting") parts.events.waiting(task);
    parts.events.send(calls);
    return task;
  }

  /** Another project may have taken a domain since the pipeline was read or last deployed. */
  async function adopt({ id }: Task): Promise<void> {
    try {
      await store.run(adoptPipeline, { taskId: id, anyDomain: parts.anyDomain });
    } catch (error) {
      if (error instanceof Fault && error.code === "invalid") throw new Undeliverable(error.reason);
      throw error;
    }
  }

  /**
   * Runners could not call while the server was down or had no database: none counts as gone before they had time to come
   * back.
   */
  function goneAt(now: Date): Pick<TaskClaim, "goneBefore"> {
    if (parts.watched.ms() <= seenWithinMs) return {};
    return { goneBefore: new Date(now.getTime() - seenWithinMs) };
  }

  /** Two instances that conflict on one project try again; after a third conflict in a row, the next poll continues. */
  async function claimed(claim: TaskClaim): Promise<Task | null> {
    for (let attempt = 1; attempt <= maxClaimAttempts; attempt++) {
      try {
        return await store.run(claimTask, claim);
      } catch (error) {
        if (!(error instanceof Fault && error.code === "conflict")) throw error;
      }
    }
    return null;
  }

  type Undelivered = Pick<Held, "taskId" | "lease">;

  /** What a verb of the queue needs about a task whose instruction no runner got. */
  function undelivered({ taskId, lease }: Undelivered) {
    return { id: taskId, leaseHash: hashToken(lease), consoleUrl: parts.events.consoleUrl() };
  }

  /** A task that was canceled meanwhile is not refused, but ends as canceled. */
  async function refuse(held: Undelivered, reason: Reason): Promise<void> {
    const done = await store.run(refuseTask, { ...undelivered(held), reason });
    if (!done) return;
    const about = { taskId: held.taskId, reason: renderReason(reason), ...taskTraceFields(done.task) };
    if (done.task.state === "failed") parts.log.error(about, "a task could not be handed out");
    announceDecided(parts.events, done);
  }

  async function giveBack(held: Undelivered): Promise<void> {
    const done = await store.run(giveBackTask, undelivered(held));
    if (done) announceDecided(parts.events, done);
  }

  /**
   * Read now: a claim waits for long. A runner whose token was reset meanwhile gets no more work, and one that is disabled only
   * actions with its services.
   */
  async function mustBeActive({ id, tokenHash }: Runner, isAction = false): Promise<void> {
    const current = await store.runners.byId(id);
    if (current?.tokenHash === tokenHash && (isAction || !current.disabled)) return;
    const message = "This runner is disabled or was deleted, or its token was reset.";
    throw new Fault("unauthenticated", message);
  }

  async function seen(runner: Runner, request: ClaimRequest): Promise<void> {
    const { concurrency, version, isolation, isolationNote, containers, features, proxy, proxyNote } =
      request;
    if (!runnerFeatures.every((feature) => features.includes(feature)))
      throw new Fault("invalid", newReason("runner_old", { version, server: serverVersion }));
    await store.runners.update(runner.id, {
      lastSeenAt: store.now(),
      offeredLabels: offeredIn(request),
      reportedIsolation: isolation,
      isolationNote: isolationNote === undefined ? "" : reasonOf(isolationNote),
      proxyNote: proxyNote === undefined ? "" : reasonOf(proxyNote),
      ...{ proxy, concurrency, version, containers, features },
    });
  }

  return {
    /** A runner has started; the response contains the name that it has here. */
    async hello(runner: Runner, request: ClaimRequest): Promise<HelloAnswer> {
      await seen(runner, request);
      return { name: runner.name, labels: offered(runner, request) };
    },
    /** The next task for this runner; null: none became available while it waited. */
    async claim(runner: Runner, request: ClaimRequest, signal: AbortSignal): Promise<RunTask | null> {
      if (closing.signal.aborted)
        throw new Fault("unavailable", "The server is stopping; ask again soon.", { retryAfterSeconds: 1 });
      await seen(runner, request);
      const stop = AbortSignal.any([signal, closing.signal]);
      // Shorter than a lease: a runner that is suspended with a task must not get that task again by a call it made before.
      const endsAt = performance.now() + Math.min(claimWaitMs, limits.leaseMs / 2);
      while (!stop.aborted) {
        const leftMs = endsAt - performance.now();
        if (leftMs <= 0) return null;
        // Subscribes before it reads, so that no task in between is missed.
        const woken = wakeups.wait(queueTopic, Math.min(leftMs, lookEveryMs), stop);
        const instruction = await claimOnce(runner, request);
        if (instruction && signal.aborted) await giveBack(instruction);
        else if (instruction) return instruction;
        await soonest(woken, await untilNotBefore());
      }
      return null;
    },
    /** Hands out no more work; tasks on runners stay there. */
    close: () => closing.abort(),
  };

  async function untilNotBefore(): Promise<number> {
    const now = store.now();
    const next = await store.tasks.nextNotBefore(now);
    return next ? next.getTime() - now.getTime() : lookEveryMs;
  }
}
export type Dispatch = ReturnType<typeof buildDispatch>;

async function soonest(woken: Promise<void>, ms: number): Promise<void> {
  if (ms >= lookEveryMs) return woken;
  const timer = Promise.withResolvers<void>();
  const handle = setTimeout(timer.resolve, Math.max(1, ms));
  await Promise.race([woken, timer.promise]);
  clearTimeout(handle);
}

/** It deploys what was approved, or a release that exists. */
function hasKnownPipeline(task: Task): boolean {
  const step = stepOf(task);
  return step === "deploy" || (step === null && (task.deploys !== null || task.rollbackTo !== null));
}

/** What each stage runs: its steps, or the services of start. */
function handedOut({ stages, services }: RunTask) {
  return stages.map(({ name, steps }) => ({
    name,
    steps: name === "start" ? [...steps, ...(services ?? [])] : steps,
  }));
}

function needsContainers({ stages, services, release: { previous } }: RunTask): boolean {
  return [...stages, ...(previous?.stages ?? [])]
    .flatMap(({ steps }): Pick<WireService, "image" | "network">[] => steps)
    .concat(services ?? [], previous?.services ?? [])
    .some(({ image, network }) => image !== "" || network === "none");
}

function offered({ labels }: Runner, request: ClaimRequest): string[] {
  return labelsOf({ labels, offeredLabels: offeredIn(request) });
}

/** A runner that sends no labels offers all of its registered labels. */
function offeredIn({ labels }: ClaimRequest): string[] | null {
  return labels.length === 0 ? null : labels;
}
