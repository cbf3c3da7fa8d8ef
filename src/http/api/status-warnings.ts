import { repositoryPlaceOf } from "../../model/git/repository-place.ts";
import type { Project, ProjectKeeper } from "../../model/project.ts";
import { reservedSecrets } from "../../model/sealed.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { type ApiContext, callerOf } from "./context.ts";

const maxCompared = 1000;

/**
 * Warns of other projects that report statuses of the same repository under the same context: the later one replaces the
 * earlier one, so that a success hides a failure.
 */
export async function statusWarnings(
  c: ApiContext,
  projects: Pick<ProjectKeeper, "withStatusContext" | "secretNames">,
  project: Project,
): Promise<Reason[]> {
  const place = placeName(project);
  const { context } = project.commitStatus;
  if (place === null) return [];
  const alike = await projects.withStatusContext(context, project.id, maxCompared);
  const sameRepository = alike.filter((other) => placeName(other) === place);
  if (sameRepository.length === 0) return [];
  const names = await projects.secretNames([project.id, ...sameRepository.map(({ id }) => id)]);
  const reporting = new Set(
    names.filter(({ name }) => name === reservedSecrets.status).map(({ ownerId }) => ownerId),
  );
  if (!reporting.has(project.id)) return [];
  const visible = await c.var.permissions.visibleProjectIds(callerOf(c));
  const others = sameRepository
    .filter(({ id }) => reporting.has(id))
    .map(({ id, name }) => (visible === undefined || visible.includes(id) ? name : null));
  return others.map((other) =>
    other === null
      ? newReason("warn_status_hidden", { context })
      : newReason("warn_status", { other, context }),
  );
}

function placeName({ git }: Pick<Project, "git">): string | null {
  const place = repositoryPlaceOf(git.url);
  return place && `${place.origin}/${place.path}`.toLowerCase();
}
