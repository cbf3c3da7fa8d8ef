import { Fault } from "../../errors.ts";
import { environmentTaking } from "../../model/environment/environment.ts";
import { toFullRef, toShortRef } from "../../model/git/git-ref.ts";
import type { Project } from "../../model/project.ts";
import type { Store } from "../../model/store.ts";
import { newReason } from "../../reason/reason.ts";

/** The environment of this name, as the project that it is. */
export async function environmentOf(
  { projects }: Pick<Store, "projects">,
  project: Project,
  name: string,
  field: string,
): Promise<Project> {
  const all = await projects.environmentsOf([project.id]);
  const found = all.find(({ environment }) => environment?.name === name);
  if (found) return found;
  const known = all.map(({ environment }) => environment?.name).join(", ");
  const message =
    known === ""
      ? newReason("environments_none", { project: project.name })
      : newReason("environment_unknown", { known });
  throw new Fault("invalid", newReason("environment_wrong", { name }), { fields: [{ field, message }] });
}

/** The project itself, or the environment of it that a task by hand is for. */
export async function placeOfRun(
  store: Pick<Store, "projects">,
  project: Project,
  ref: string | null,
  name: string | undefined,
): Promise<Project> {
  if (name !== undefined) return environmentOf(store, project, name, "environment");
  if (project.environments.length === 0) return project;
  const full = toFullRef(ref ?? project.git.ref);
  const taking = environmentTaking(project.environments, [full, toShortRef(full)]);
  if (taking !== null) return environmentOf(store, project, taking, "environment");
  const known = project.environments.map((each) => each.name).join(", ");
  throw new Fault("invalid", newReason("environment_needed", { known }), {
    fields: [{ field: "environment", message: newReason("environment_one_of", { known }) }],
  });
}
