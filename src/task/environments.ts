import type { Environment } from "../model/environment/environment.ts";
import type { Project } from "../model/project.ts";
import type { Keepers } from "../model/store.ts";
import { claimPlaces } from "./claim-places.ts";

/**
 * The settings of an environment: those of its project, except what the project says about it. The pipeline of a project with a
 * file is what each environment has read last, so it is not theirs.
 */
function settingsOf(project: Project, environment: Environment) {
  const { commitStatus } = project;
  const {
    id: _id,
    parentId: _parent,
    sample: _sample,
    createdAt: _at,
    fileRead: _read,
    ...inherited
  } = project;
  const { disk: _disk, liveTaskId: _live, liveNote: _note, homeRunnerId: _home, ...settings } = inherited;
  return {
    ...settings,
    name: `${project.name}/${environment.name}`,
    commitStatus: { ...commitStatus, context: `${commitStatus.context}/${environment.name}` },
    env: { ...project.env, ...environment.env },
    labels: environment.labels ?? project.labels,
    deploy: environment.deploy ?? project.deploy,
    publicUrl: environment.publicUrl,
    environments: [],
    environment,
  };
}

/**
 * Makes the environments of a project what its settings say, in the transaction that changed them. Returns those that it no longer
 * names: their tasks go first, and not in this transaction. Those whose deletion was interrupted are returned again.
 */
export async function applyEnvironments(
  keepers: Pick<Keepers, "projects" | "routePlaces">,
  project: Project,
  visible: number[] | undefined,
): Promise<Project[]> {
  const { projects } = keepers;
  const stored = await projects.environmentsOf([project.id]);
  // Two of them may exchange their domains.
  for (const { id } of stored) await keepers.routePlaces.claim(id, []);
  for (const [index, environment] of project.environments.entries()) {
    const before = stored.find((each) => each.environment?.name === environment.name);
    const { pipeline, needsContainer, ...settings } = settingsOf(project, environment);
    const read = before && project.pipelineFile !== null ? {} : { pipeline, needsContainer };
    const change = { ...settings, ...read };
    const after = before
      ? await projects.update(before.id, change)
      : await projects.create({
          ...project,
          ...change,
          ...{ parentId: project.id, fileRead: null },
        });
    if (after) await claimPlaces(keepers, after, visible, { fieldOfAll: `environments.${index}.domains` });
  }
  const isNamed = (name = "") => project.environments.some((each) => each.name === name);
  const removed = stored.filter(({ environment }) => !isNamed(environment?.name));
  for (const { id } of removed) {
    // Its deletion may be interrupted: one that is added later with its name must not get what it has.
    await projects.update(id, { name: `${project.name}/#${id}`, environment: null });
    for (const { name } of await projects.secretNames([id])) await projects.deleteSecret(id, name);
  }
  return removed;
}
