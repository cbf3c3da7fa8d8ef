import { isIsolatedEnough } from "../../model/execution.ts";
import type { Group } from "../../model/group.ts";
import type { Project } from "../../model/project.ts";
import { needsOf } from "../../model/release.ts";
import { isSeen, labelsOf, type Runner } from "../../model/runner.ts";
import type { Keepers } from "../../model/store.ts";

/** Why no runner can take a queued task. */
export interface Waiting {
  /** For people: "waiting: no runner has the labels gpu". */
  text: string;
  /** True: only a change of settings helps. False: a runner just has to connect. */
  isLasting: boolean;
}

/** Inside a transaction, pass its keepers: waiting for a second connection could block. */
export type WaitingOf = (keepers: Readers, project: Wanted, now: Date) => Promise<Waiting | null>;

type Readers = Pick<Keepers, "runners" | "groups">;

type Wanted = Pick<
  Project,
  "labels" | "groupId" | "isolation" | "needsContainer" | "stages" | "homeRunnerId" | "deploy"
>;

/** Maximum age of the cached list of runners. A lasting reason is checked again without the cache. */
const keptMs = 1000;
const maxRunners = 200;

/** Reads the runners at most once a second, because many deliveries may arrive, unless no runner is allowed. */
export function buildWaiting(elapsedMs: () => number = () => performance.now()): WaitingOf {
  let kept: { runners: Runner[]; readAtMs: number } | null = null;
  let reading: Promise<Runner[]> | null = null;

  async function read({ runners }: Readers): Promise<Runner[]> {
    const readAtMs = elapsedMs();
    const { items } = await runners.list({ page: 1, pageSize: maxRunners });
    kept = { runners: items, readAtMs };
    return items;
  }

  /** Simultaneous callers share one read. */
  function readOnce(keepers: Readers): Promise<Runner[]> {
    reading ??= read(keepers).finally(() => {
      reading = null;
    });
    return reading;
  }

  return async (keepers, project, now) => {
    const group =
      project.groupId === null || project.labels.length === 0
        ? null
        : await keepers.groups.byId(project.groupId);
    if (kept !== null && elapsedMs() - kept.readAtMs < keptMs) {
      const waiting = waitingFor(project, group, kept.runners, now);
      if (!waiting?.isLasting) return waiting;
    }
    const isOld = kept === null || elapsedMs() - kept.readAtMs >= keptMs;
    return waitingFor(project, group, await (isOld ? readOnce(keepers) : read(keepers)), now);
  };
}

/** Applies the rules of store/keepers/task-claim.ts and describes the first one that leaves no runner. */
export function waitingFor(
  project: Wanted,
  group: Group | null,
  runners: Runner[],
  now: Date,
): Waiting | null {
  const { labels, groupId } = project;
  const enabled = runners.filter((runner) => !runner.disabled);
  const named = `the labels ${labels.join(", ")}`;
  const refused = labels.filter((label) => group?.labels?.includes(label) === false);
  if (group !== null && refused.length > 0)
    return lasting(
      `the group ${group.name} may not use ${refused.join(", ")}; an administrator can allow it under Groups`,
    );
  const labelled = enabled.filter((runner) => labels.every((label) => labelsOf(runner).includes(label)));
  if (labels.length > 0 && labelled.length === 0) return lasting(`no runner has ${named}`);
  const willing = labelled.filter(
    (runner) => labels.length > 0 || runner.labels.length === 0 || runner.alsoUnlabelled,
  );
  if (labelled.length > 0 && willing.length === 0)
    return lasting(
      "every runner has labels and takes no project without labels; give the project labels, or start a runner with --also-unlabelled",
    );
  const able = willing.filter(
    ({ groupIds }) => groupIds.length === 0 || (groupId !== null && groupIds.includes(groupId)),
  );
  if (willing.length > 0 && able.length === 0)
    return lasting(
      `every runner${labels.length > 0 ? ` with ${named}` : ""} is bound to other groups; an administrator can change that under Runners`,
    );
  const isolated = able.filter((runner) => isIsolatedEnough(runner.isolation, project.isolation));
  if (able.length > 0 && isolated.length === 0)
    return lasting(
      `the project requires a runner with isolation ${project.isolation}, and no runner it may use has it; set runner.${project.isolation === "user" ? "scriptUser" : "image"} on a runner`,
    );
  const equipped = isolated.filter((runner) => runner.containers || !project.needsContainer);
  if (isolated.length > 0 && equipped.length === 0)
    return lasting(
      "a stage of the project runs in a container, and no runner it may use can run containers; install podman or docker on a runner of this version",
    );
  const needs = needsOf(project);
  // A runner that has never connected has not reported its capabilities.
  const fit = equipped.filter(
    ({ features, lastSeenAt }) => lastSeenAt === null || needs.every((need) => features.includes(need)),
  );
  if (equipped.length > 0 && fit.length === 0)
    return lasting(
      `${equipped.map(({ name }) => name).join(", ")} ${equipped.length > 1 ? "are" : "is"} of an older version that cannot do what ${needs.includes("approvals") ? "deploy.approval" : "start.previous or the health check"} of this project asks for; update ${equipped.length > 1 ? "one of them" : "that runner"}`,
    );
  const away = project.homeRunnerId === null ? null : homeFault(project.homeRunnerId, runners, fit, now);
  if (project.homeRunnerId !== null) return away;
  if (fit.some((runner) => isSeen(runner, now))) return null;
  const text = `waiting: no runner${labels.length > 0 ? ` with ${named}` : ""} is connected`;
  return { text, isLasting: false };
}

/** A project stays with the runner that holds its releases. */
function homeFault(homeId: number, runners: Runner[], fit: Runner[], now: Date): Waiting | null {
  const home = runners.find(({ id }) => id === homeId);
  const way = "or move the project to another runner, which builds it again";
  if (!home)
    return lasting(
      `its releases are on runner ${homeId}, which was deleted; move the project to another runner, which builds it again`,
    );
  const whose = `its releases are on the runner ${home.name}`;
  if (home.disabled) return lasting(`${whose}, which is disabled; enable it, ${way}`);
  if (!fit.includes(home))
    return lasting(`${whose}, which may not or cannot take its tasks any more; change that, ${way}`);
  if (isSeen(home, now)) return null;
  return { text: `waiting: ${whose}, which is not connected; start it, ${way}`, isLasting: false };
}

function lasting(why: string): Waiting {
  return { text: `waiting: ${why}`, isLasting: true };
}
