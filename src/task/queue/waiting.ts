import { isIsolatedEnough } from "../../model/execution.ts";
import type { Group } from "../../model/group.ts";
import type { Project } from "../../model/project.ts";
import { needsOf } from "../../model/release.ts";
import { isSeen, labelsOf, type Runner } from "../../model/runner.ts";
import type { Keepers } from "../../model/store.ts";
import { reasonText } from "../../reason/reason.ts";

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
  "labels" | "groupId" | "isolation" | "needsContainer" | "stages" | "homeRunnerId" | "deploy" | "git"
>;

/** Maximum age of the cached list of runners. A lasting reason is checked again without the cache. */
const keptMs = 1000;
const maxRunners = 200;

/** Reads the runners at most once a second, because many deliveries may arrive, unless no runner is allowed. */
export function buildWaiting(elapsedMs: () => number = () => performance.now()) {
  let kept: { runners: Runner[]; readAtMs: number } | null = null;
  let reading: Promise<Runner[]> | null = null;
  let changes = 0;

  async function read({ runners }: Readers): Promise<Runner[]> {
    const readAtMs = elapsedMs();
    const before = changes;
    const { items } = await runners.list({ page: 1, pageSize: maxRunners });
    if (changes === before) kept = { runners: items, readAtMs };
    return items;
  }

  /** Simultaneous callers share one read. */
  function readOnce(keepers: Readers): Promise<Runner[]> {
    if (reading !== null) return reading;
    const started = read(keepers).finally(() => {
      if (reading === started) reading = null;
    });
    reading = started;
    return started;
  }

  const waitingOf: WaitingOf = async (keepers, project, now) => {
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
  return {
    waitingOf,
    /** Call after a runner was changed here, so that the next answer takes it into account. */
    runnersChanged(): void {
      changes += 1;
      kept = null;
      reading = null;
    },
  };
}

/** Applies the rules of store/keepers/task-claim.ts and describes the first rule that leaves no runner. */
export function waitingFor(
  project: Wanted,
  group: Group | null,
  runners: Runner[],
  now: Date,
): Waiting | null {
  const { labels, homeRunnerId } = project;
  const [on, off] = [runners.filter(({ disabled }) => !disabled), runners.filter(({ disabled }) => disabled)];
  if (homeRunnerId === null && !on.some((runner) => hasLabels(runner, labels))) {
    const idle = fitOf(project, group, off);
    if (Array.isArray(idle) && idle.length > 0)
      return lasting(reasonText("wait_disabled", { runners: idle.map(({ name }) => name).join(", ") }));
  }
  const fit = fitOf(project, group, on);
  if (!Array.isArray(fit)) return fit;
  if (homeRunnerId !== null) return homeFault(homeRunnerId, runners, fit, now);
  if (fit.some((runner) => isSeen(runner, now))) return null;
  return waiting(
    labels.length > 0
      ? reasonText("wait_labels_not_connected", { labels: labels.join(", ") })
      : reasonText("wait_not_connected"),
  );
}

function hasLabels(runner: Runner, labels: string[]): boolean {
  return labels.every((label) => labelsOf(runner).includes(label));
}

/** The runners that may take the tasks of a project, or the first rule that leaves none. */
function fitOf(project: Wanted, group: Group | null, runners: Runner[]): Runner[] | Waiting {
  const { labels, groupId } = project;
  const named = { labels: labels.join(", ") };
  const refused = labels.filter((label) => group?.labels?.includes(label) === false);
  if (group !== null && refused.length > 0)
    return lasting(reasonText("wait_group_labels", { group: group.name, labels: refused.join(", ") }));
  const labelled = runners.filter((runner) => hasLabels(runner, labels));
  if (labels.length > 0 && labelled.length === 0) return lasting(reasonText("wait_no_labels", named));
  const willing = labelled.filter(
    (runner) => labels.length > 0 || runner.labels.length === 0 || runner.alsoUnlabelled,
  );
  if (labelled.length > 0 && willing.length === 0) return lasting(reasonText("wait_unlabelled"));
  const able = willing.filter(
    ({ groupIds }) => groupIds.length === 0 || (groupId !== null && groupIds.includes(groupId)),
  );
  if (willing.length > 0 && able.length === 0)
    return lasting(labels.length > 0 ? reasonText("wait_bound_labels", named) : reasonText("wait_bound"));
  const isolated = able.filter((runner) => isIsolatedEnough(runner.isolation, project.isolation));
  if (able.length > 0 && isolated.length === 0)
    return lasting(
      reasonText("wait_isolation", {
        isolation: project.isolation,
        setting: project.isolation === "user" ? "scriptUser" : "image",
      }),
    );
  const equipped = isolated.filter((runner) => runner.containers || !project.needsContainer);
  if (isolated.length > 0 && equipped.length === 0) return lasting(reasonText("wait_container"));
  const needs = needsOf(project);
  // A runner that has never connected has not reported its capabilities.
  const fit = equipped.filter(
    ({ features, lastSeenAt }) => lastSeenAt === null || needs.every((need) => features.includes(need)),
  );
  if (equipped.length > 0 && fit.length === 0)
    return lasting(
      reasonText(equipped.length > 1 ? "wait_old_runners" : "wait_old_runner", {
        runners: equipped.map(({ name }) => name).join(", "),
        setting: settingOf(needs, equipped),
      }),
    );
  return fit;
}

/** A project stays with the runner that holds its releases. */
function homeFault(homeId: number, runners: Runner[], fit: Runner[], now: Date): Waiting | null {
  const home = runners.find(({ id }) => id === homeId);
  if (!home) return lasting(reasonText("wait_home_deleted", { runner: homeId }));
  const named = { runner: home.name };
  if (home.disabled) return lasting(reasonText("wait_home_disabled", named));
  if (!fit.includes(home)) return lasting(reasonText("wait_home_unfit", named));
  if (isSeen(home, now)) return null;
  return waiting(reasonText("wait_home_away", named));
}

/** A setting that asks for more than these runners can do. */
function settingOf(needs: string[], runners: Runner[]): string {
  const lacking = needs.filter((need) => runners.some(({ features }) => !features.includes(need)));
  if (lacking.includes("approvals")) return "deploy.approval";
  return lacking.includes("releases") ? "start.previous or the health check" : "git.lfs";
}

function waiting(why: string): Waiting {
  return { text: reasonText("waiting", { why }), isLasting: false };
}

function lasting(why: string): Waiting {
  return { ...waiting(why), isLasting: true };
}
