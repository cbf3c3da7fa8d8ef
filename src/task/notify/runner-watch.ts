import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { AddedCall, NewOutgoingCall } from "../../model/outgoing-call.ts";
import type { Project } from "../../model/project.ts";
import { isSeen, type Runner } from "../../model/runner.ts";
import { operation, type Store } from "../../model/store.ts";
import { renderReason } from "../../reason/reason.ts";
import { projectWaits } from "../view/project-wait.ts";
import { readDefaultTarget } from "./default-target.ts";
import { runnerGoneNotice } from "./notice.ts";
import { notificationCalls, targetsOf } from "./notifications.ts";
import type { Outbox } from "./outbox.ts";
import { storeCalls } from "./store-calls.ts";
import type { WatchedTime } from "./watched-time.ts";

export interface RunnerWatchParts {
  store: Pick<Store, "runners" | "projects" | "meta" | "now" | "run">;
  outbox: Pick<Outbox, "send">;
  /** Fed here, and read by all that decide whether a runner is gone. */
  watched: WatchedTime;
  consoleUrl: () => string;
  log: Logger;
}

const lookEveryMs = 15_000;
/** Runners could not call while the server was down or had no database: they have this long to reconnect. */
const graceMs = 120_000;
const maxRunners = 200;
const projectsPerPage = 200;

/** Detects runners that no longer call, and reports each once to the projects that it worked for. */
export function buildRunnerWatch({ store, outbox, watched, consoleUrl, log }: RunnerWatchParts) {
  /** The last call of runners that are known to be reported: their projects need not be read again. */
  const reported = new Map<number, number>();
  let timer: ReturnType<typeof setInterval> | undefined;

  async function look(): Promise<void> {
    const { items: runners } = await store.runners.list({ page: 1, pageSize: maxRunners });
    watched.looked();
    if (watched.ms() < graceMs) return;
    const now = store.now();
    for (const runner of runners) {
      const { lastSeenAt } = runner;
      if (runner.disabled || lastSeenAt === null || isSeen(runner, now)) continue;
      if (reported.get(runner.id) === lastSeenAt.getTime()) continue;
      const calls = await callsAbout(runner, lastSeenAt, now);
      const stored = await store.run(reportGone, { runnerId: runner.id, lastSeenAt, calls });
      reported.set(runner.id, lastSeenAt.getTime());
      if (stored === null) continue;
      log.warn({ runner: runner.name, lastSeenAt }, "a runner is gone");
      outbox.send(stored);
    }
  }

  /** A message for each project that the runner could work for. */
  async function callsAbout(runner: Runner, lastSeenAt: Date, now: Date): Promise<NewOutgoingCall[]> {
    const calls: NewOutgoingCall[] = [];
    const defaultTarget = (await readDefaultTarget(store.meta))?.target ?? null;
    const targetsFor = (project: Project) => targetsOf(project, "runner.gone", defaultTarget);
    for (let page = 1; ; page++) {
      const { items } = await store.projects.list(
        { withEnvironments: true },
        { page, pageSize: projectsPerPage },
      );
      const told = items.filter(
        (project) => project.environments.length === 0 && targetsFor(project).length > 0,
      );
      const ids = told.map(({ id }) => id);
      // The runner was connected at its last call: a reason that excluded it from the project then still does.
      const excluded = await projectWaits(store, ids, lastSeenAt, runner.id);
      const waits = await projectWaits(store, ids, now);
      for (const project of told) {
        if (excluded[project.id]) continue;
        const waiting = renderReason(waits[project.id]?.reason ?? "");
        const notice = runnerGoneNotice(runner, project, waiting);
        const context = { now, consoleUrl: consoleUrl() };
        calls.push(...notificationCalls(notice, project, targetsFor(project), context));
      }
      if (items.length < projectsPerPage) return calls;
    }
  }

  return {
    start(): void {
      timer = setInterval(() => {
        look().catch((error: unknown) =>
          log.error({ error: messageOf(error) }, "runners could not be looked at"),
        );
      }, lookEveryMs);
    },
    look,
    stop: () => clearInterval(timer),
  };
}

interface GoneRunner {
  runnerId: number;
  lastSeenAt: Date;
  calls: NewOutgoingCall[];
}

/** Of several instances, one marks the runner and reports it. Null: another one did, or the runner is back. */
export const reportGone = operation(
  "reportGone",
  async (keepers, { runnerId, lastSeenAt, calls }: GoneRunner): Promise<AddedCall[] | null> =>
    (await keepers.runners.markGone(runnerId, lastSeenAt)) ? storeCalls(keepers, calls, null) : null,
);
