import type { AddedCall } from "../../model/outgoing-call.ts";
import type { Project } from "../../model/project.ts";
import type { Release } from "../../model/release.ts";
import type { RunningService } from "../../model/service/running-service.ts";
import type { ServiceReport } from "../../model/service/service.ts";
import { type OperationKeepers, operation } from "../../model/store.ts";
import type { Task } from "../../model/task.ts";
import { reasonOf } from "../../reason/said-reason.ts";
import { defaultTargetFor } from "../notify/default-target.ts";
import { serviceNotice } from "../notify/notice.ts";
import { notificationCalls, targetsOf } from "../notify/notifications.ts";
import { storeCalls } from "../notify/store-calls.ts";
import { type BegunRollback, isCrashLoop, rollBackCrashLoop } from "./crash-loop.ts";
import { judge, type ServiceEvent } from "./judge-service.ts";
import { noteStates } from "./service-live.ts";

interface ProjectReport {
  runnerId: number;
  projectId: number;
  /** All services of the project that run there. */
  services: ServiceReport[];
  consoleUrl: string;
}

export interface RecordedServices {
  /** Null: no state has changed that a page shows. */
  changed: RunningService[] | null;
  /** Notifications that were stored. */
  calls: AddedCall[];
  rollback: BegunRollback | null;
}

const sampleEveryMs = 5 * 60_000;
/** Longer than a runner waits between two reports: one that it sent before a deploy ended may arrive after it. */
const missingAfterMs = 15_000;
const missingText = "The runner has no such service any more.";

/** Stores what a runner reports of the services of one project, and what follows from it. */
export const recordServices = operation(
  "recordServices",
  async (keepers, report: ProjectReport): Promise<RecordedServices> => {
    const project = await keepers.projects.hold(report.projectId);
    const serving = project && (await keepers.releases.servedLast(project.id));
    const unfinished = project ? await keepers.tasks.unfinishedOfProject(project.id) : [];
    const deploying = unfinished.find(({ deployingSince }) => deployingSince !== null) ?? null;
    if (!project || (!serving && !deploying)) return { changed: null, calls: [], rollback: null };
    const before = await keepers.services.ofProject(project.id);
    const reported = await chosen(keepers, report, serving, deploying);
    // What happens during a deploy is part of its task.
    const judged = deploying === null ? serving : null;
    const after: RunningService[] = [];
    const calls: AddedCall[] = [];
    const store = async (known: RunningService | undefined, row: RunningService) => {
      const isJudged = row.taskId === judged?.taskId;
      const { event, ...marks } = isJudged ? judge(known, row) : { event: null };
      const service = { ...row, ...marks };
      await keepers.services.put(service);
      after.push(service);
      if (event !== null && judged)
        calls.push(...(await notify(keepers, event, service, project, judged, report.consoleUrl)));
    };
    for (const each of reported) {
      const known = before.find(({ name }) => name === each.name);
      await store(known, await rowOf(keepers, each, report.runnerId, known));
    }
    for (const known of before) {
      if (reported.some(({ name }) => name === known.name)) continue;
      const missing = known.runnerId === report.runnerId ? missingRow(known, judged, keepers.now()) : known;
      if (missing === "gone") await keepers.services.delete(project.id, known.name);
      else if (missing === known) after.push(known);
      else await store(known, missing);
    }
    const rollback = judged ? await conclude(keepers, project, judged, after, report.consoleUrl) : null;
    return { changed: hasChanged(before, after) ? after : null, calls, rollback };
  },
);

/**
 * The reports that count: those of the release that serves, and while a task of this runner deploys, of its new one. A runner can
 * report only releases that it has made. Of two services with one name, the one that serves counts.
 */
async function chosen(
  { releases }: Pick<OperationKeepers, "releases">,
  { services, runnerId, projectId }: ProjectReport,
  serving: Release | null,
  deploying: Task | null,
): Promise<ServiceReport[]> {
  const counted: number[] = [];
  for (const taskId of new Set(services.map((service) => service.taskId))) {
    const release = taskId === serving?.taskId ? serving : await releases.ofTask(taskId);
    const isOwn = release?.projectId === projectId && release.runnerId === runnerId;
    if (isOwn && (taskId === serving?.taskId || deploying?.runnerId === runnerId)) counted.push(taskId);
  }
  const rank = ({ taskId }: ServiceReport) => (taskId === serving?.taskId ? Number.MAX_SAFE_INTEGER : taskId);
  const best = new Map<string, ServiceReport>();
  for (const service of services.filter(({ taskId }) => counted.includes(taskId))) {
    const held = best.get(service.name);
    if (!held || rank(service) > rank(held)) best.set(service.name, service);
  }
  return [...best.values()];
}

async function rowOf(
  { services, now }: OperationKeepers,
  { since, startedAt, output: _output, requests, routes, ...report }: ServiceReport,
  runnerId: number,
  known: RunningService | undefined,
): Promise<RunningService> {
  const reportedAt = now();
  const { projectId, name, memoryBytes, cpu } = report;
  const isDue = !known || reportedAt.getTime() - known.sampledAt.getTime() >= sampleEveryMs;
  if (isDue) await services.addSample(projectId, name, { at: reportedAt, memoryBytes, cpu });
  if (requests !== null) {
    const { from, to: _to, ...figures } = requests;
    await services.addRequests(projectId, name, { ...figures, at: new Date(from) });
  }
  return {
    ...report,
    routes: routes.map((route) => ({ ...route, fault: route.fault === null ? "" : reasonOf(route.fault) })),
    runnerId,
    since: new Date(since),
    startedAt: new Date(startedAt),
    reportedAt,
    sampledAt: isDue ? reportedAt : known.sampledAt,
    isAway: false,
    downSince: known?.downSince ?? null,
    recoveringSince: known?.recoveringSince ?? null,
  };
}

/** A service that its runner no longer names: `gone` if it belongs to no release that serves. */
function missingRow(known: RunningService, judged: Release | null, now: Date): RunningService | "gone" {
  const isIts = known.taskId === judged?.taskId;
  if (isIts && known.fault === missingText) return { ...known, reportedAt: now };
  // No report of another release counts once that one serves: nothing late can bring it back.
  if (!isIts && judged !== null) return "gone";
  if (now.getTime() - known.reportedAt.getTime() < missingAfterMs) return known;
  if (!isIts) return "gone";
  const nothing = { port: null, routes: [], memoryBytes: null, cpu: null, isAway: false };
  return { ...known, ...nothing, state: "down", fault: missingText, since: now, reportedAt: now };
}

async function conclude(
  keepers: OperationKeepers,
  project: Project,
  release: Release,
  services: RunningService[],
  consoleUrl: string,
): Promise<BegunRollback | null> {
  await noteStates(keepers, project, release, services);
  const looping = services.find((each) => each.taskId === release.taskId && isCrashLoop(each));
  return looping ? rollBackCrashLoop(keepers, project, release, looping, consoleUrl) : null;
}

async function notify(
  keepers: OperationKeepers,
  event: ServiceEvent,
  service: RunningService,
  project: Project,
  release: Release,
  consoleUrl: string,
): Promise<AddedCall[]> {
  const targets = targetsOf(project, event, await defaultTargetFor(keepers.meta, project));
  if (targets.length === 0) return [];
  const context = { now: keepers.now(), consoleUrl };
  const notice = serviceNotice(event, service, project, release);
  return storeCalls(keepers, notificationCalls(notice, project, targets, context), null);
}

function hasChanged(before: RunningService[], after: RunningService[]): boolean {
  const shown = (services: RunningService[]) =>
    services
      .map(({ name, taskId, state, restarts, fault, isAway, routes }) =>
        [name, taskId, state, restarts, fault, isAway, JSON.stringify(routes)].join("\n"),
      )
      .sort()
      .join("\n\n");
  return shown(before) !== shown(after);
}
