import { Fault } from "../errors.ts";
import { ownPipeline } from "../model/environment/environment.ts";
import type { Pipeline } from "../model/pipeline.ts";
import type { Project } from "../model/project.ts";
import { placeText } from "../model/service/route.ts";
import { placesIn } from "../model/service/route-place.ts";
import type { Keepers } from "../model/store.ts";
import { newReason } from "../reason/reason.ts";

/**
 * Gives a project the places of its routes, or throws a fault that ends the transaction. Of the project that has a place, people
 * learn the name if they may see it; `visible` has the ids of these projects, undefined: all.
 */
export async function claimPlaces(
  { routePlaces, projects }: Pick<Keepers, "routePlaces" | "projects">,
  project: Project,
  visible: number[] | undefined,
  {
    fieldOfAll,
    deployed = [],
  }: {
    /** What is to be changed, if it is not the route. */
    fieldOfAll?: string;
    /** Pipelines that it has besides its own. */
    deployed?: Pipeline[];
  } = {},
): Promise<void> {
  // With environments, they serve.
  const pipelines = project.environments.length > 0 ? [] : [project.pipeline, ...deployed];
  const places = pipelines.flatMap((pipeline) => placesIn(ownPipeline({ ...project, pipeline })));
  const taken = await routePlaces.claim(project.id, places);
  const fields = [];
  for (const { domain, path, projectId } of taken) {
    const found = await projects.byId(projectId);
    const place = placeText({ domain, path });
    const message =
      found?.environment && found.parentId === project.parentId
        ? newReason("environment_domain", { place, name: found.environment.name })
        : found !== null && (visible === undefined || visible.includes(projectId))
          ? newReason("route_taken_by", { place, project: found.name })
          : newReason("route_taken", { place });
    const { field = "pipeline" } = places.find((each) => each.domain === domain && each.path === path) ?? {};
    fields.push({ field: fieldOfAll ?? field, message });
  }
  if (fields.length > 0) throw new Fault("invalid", newReason("routes_refused"), { fields });
}
