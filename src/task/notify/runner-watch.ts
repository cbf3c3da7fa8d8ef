import type { Clock } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { Log } from "../../log.ts";
import type { Project } from "../../model/project.ts";
import { isSeen, type Runner } from "../../model/runner.ts";
import type { Store } from "../../model/store.ts";
import { waitingFor } from "../queue/waiting.ts";
import { runnerGoneNotice } from "./notice.ts";
import { type Notifier, targetsOf } from "./notifier.ts";

export interface RunnerWatchParts {
  store: Pick<Store, "runners" | "projects" | "groups" | "now">;
  notifier: Pick<Notifier, "send">;
  clock: Pick<Clock, "elapsed">;
  log: Log;
}

const lookEveryMs = 15_000;
/** Runners could not call while the server was down: they have this long to reconnect. */
const graceMs = 120_000;
const maxRunners = 200;
const projectsPerPage = 200;

/** Detects runners that no longer call, and reports each once to the projects that it worked for. */
export function buildRunnerWatch({ store, notifier, clock, log }: RunnerWatchParts) {
  let startedAtMs = clock.elapsed();
  let timer: ReturnType<typeof setInterval> | undefined;

  async function look(): Promise<void> {
    if (clock.elapsed() - startedAtMs < graceMs) return;
    const now = store.now();
    const { items: runners } = await store.runners.list({ page: 1, pageSize: maxRunners });
    for (const runner of runners) {
      const { lastSeenAt } = runner;
      if (runner.disabled || lastSeenAt === null || isSeen(runner, now)) continue;
      // Of several instances, one marks the runner and reports it.
      if (await store.runners.markGone(runner.id, lastSeenAt)) await report(runner, runners, now);
    }
  }

  async function report(runner: Runner, runners: Runner[], now: Date): Promise<void> {
    log.warn({ runner: runner.name, lastSeenAt: runner.lastSeenAt }, "a runner is gone");
    for (let page = 1; ; page++) {
      const { items } = await store.projects.list({}, { page, pageSize: projectsPerPage });
      for (const project of items) await reportTo(project, runner, runners, now);
      if (items.length < projectsPerPage) return;
    }
  }

  async function reportTo(project: Project, runner: Runner, runners: Runner[], now: Date): Promise<void> {
    if (targetsOf(project, "runner.gone").length === 0) return;
    const group = project.groupId === null ? null : await store.groups.byId(project.groupId);
    // The runner was connected at its last call: a reason that excluded it from the project then still does.
    if (waitingFor(project, group, [runner], runner.lastSeenAt ?? now) !== null) return;
    const waiting = waitingFor(project, group, runners, now)?.text ?? "";
    notifier.send(runnerGoneNotice(runner, project, waiting), project);
  }

  return {
    start(): void {
      startedAtMs = clock.elapsed();
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
