import { shortCommit } from "../../model/git/short-commit.ts";
import { servicesOf } from "../../model/pipeline.ts";
import type { Project } from "../../model/project.ts";
import type { Release } from "../../model/release.ts";
import { isUp, type RunningService } from "../../model/service/running-service.ts";
import type { ServiceState } from "../../model/service/service.ts";
import type { Keepers } from "../../model/store.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { isCrashLoop } from "./crash-loop.ts";

/**
 * What is known to serve follows from the states of the services of the release that served last, once its runner has reported
 * them: a release of version 1.0 has started its processes itself.
 */
export async function noteStates(
  { projects, releases }: Pick<Keepers, "projects" | "releases">,
  project: Project,
  release: Release,
  services: readonly RunningService[],
): Promise<void> {
  const own = services.filter(({ taskId }) => taskId === release.taskId);
  if (own.length === 0) return;
  const isWhole = servicesOf(release.pipeline).every(({ name }) => own.some((each) => each.name === name));
  const fallen = own.find(({ state }) => !isUp(state));
  if (fallen) await setNote(projects, project, noteOf(fallen, release));
  else if (isWhole && project.liveTaskId === null)
    await projects.setLive(project.id, { liveTaskId: release.taskId, liveNote: "" });
  const ended = own.find((each) => each.state === "down" || isCrashLoop(each));
  if (ended && release.endedAt === null) await releases.update(release.taskId, { endedAt: ended.reportedAt });
  else if (!fallen && isWhole && release.endedAt !== null)
    await releases.update(release.taskId, { endedAt: null });
}

/** The runner does not report any more. */
export async function noteAway(
  { projects, runners }: Pick<Keepers, "projects" | "runners">,
  project: Project,
  { runnerId, commit }: Release,
): Promise<void> {
  const runner = (await runners.byId(runnerId))?.name ?? String(runnerId);
  await setNote(projects, project, newReason("live_runner_away", { runner, commit: shortCommit(commit) }));
}

async function setNote(
  projects: Keepers["projects"],
  { id, liveTaskId, liveNote }: Project,
  note: Reason,
): Promise<void> {
  if (liveTaskId === null && JSON.stringify(liveNote) === JSON.stringify(note)) return;
  await projects.setLive(id, { liveTaskId: null, liveNote: note });
}

const codeOf = {
  starting: "live_service_starting",
  restarting: "live_service_restarting",
  down: "live_service_down",
  stopped: "live_service_stopped",
} as const satisfies Partial<Record<ServiceState, string>>;

function noteOf({ name, state }: RunningService, { commit }: Release): Reason {
  const code = state in codeOf ? codeOf[state as keyof typeof codeOf] : "live_service_down";
  return newReason(code, { service: name, commit: shortCommit(commit) });
}
