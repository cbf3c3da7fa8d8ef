import { strongestIsolation, weakestIsolation } from "../model/execution.ts";
import { runOf } from "../model/pipeline.ts";
import type { Project } from "../model/project.ts";
import { effectiveIsolation, type Runner } from "../model/runner.ts";
import type { Keepers } from "../model/store.ts";
import { newReason, type Reason } from "../reason/reason.ts";
import { separatingFeatures } from "../runner/protocol.ts";

export interface Isolation {
  /** Whether a user who is not an admin may write scripts that can read the runner's files. */
  isExposed: boolean;
  /** Names of enabled runners that have connected and whose scripts can read what the runner's user, or `runner.user`, can read. */
  notIsolated: string[];
}

const maxRunners = 200;

export async function isolationOf({
  runners,
  permissions,
}: Pick<Keepers, "runners" | "permissions">): Promise<Isolation> {
  const { items } = await runners.list({ page: 1, pageSize: maxRunners });
  const notIsolated = items
    .filter((runner) => !runner.disabled && hasReported(runner) && !isIsolated(runner))
    .map(({ name }) => name);
  return { notIsolated, isExposed: notIsolated.length > 0 && (await permissions.hasOtherManagers()) };
}

/** Nothing can be said about the isolation of a runner that has never connected. */
function hasReported({ lastSeenAt }: Runner): boolean {
  return lastSeenAt !== null;
}

/** Whether scripts cannot read what the runner can read. */
export function isIsolated(runner: Runner): boolean {
  return effectiveIsolation(runner) !== weakestIsolation;
}

/** Whether scripts of one project cannot change the workspaces of another. */
export function separatesProjects(runner: Runner): boolean {
  if (effectiveIsolation(runner) === strongestIsolation) return true;
  return isIsolated(runner) && runner.features.some((feature) => separatingFeatures.includes(feature));
}

/** What does not keep the scripts of a project from changing what is deployed. */
export async function releaseWarnings(
  project: Project,
  keepers: Pick<Keepers, "runners">,
): Promise<Reason[]> {
  const { pipeline } = project;
  const deploys = [...runOf(pipeline, "deploy"), ...runOf(pipeline, "start")].length > 0;
  const open = deploys && !pipeline.sealed ? [newReason("warn_not_sealed")] : [];
  return [...open, ...(await approvalWarnings(project, keepers))];
}

/** On a runner that does not separate projects, any script can change a workspace between its build and its deploy. */
async function approvalWarnings(project: Project, { runners }: Pick<Keepers, "runners">): Promise<Reason[]> {
  if (project.deploy.approval === "none") return [];
  const weak = (await runners.ofProject(project.id)).filter(
    (runner) => hasReported(runner) && !separatesProjects(runner),
  );
  if (weak.length === 0) return [];
  return [newReason("warn_approval_isolation", { runners: weak.map(({ name }) => name).join(", ") })];
}
