import { Fault } from "../errors.ts";
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
  { id, pipeline }: Project,
  visible: number[] | undefined,
): Promise<void> {
  const places = placesIn(pipeline);
  const taken = await routePlaces.claim(id, places);
  const fields = [];
  for (const { domain, path, projectId } of taken) {
    const isVisible = visible === undefined || visible.includes(projectId);
    const owner = isVisible ? await projects.byId(projectId) : null;
    const place = placeText({ domain, path });
    const message = owner
      ? newReason("route_taken_by", { place, project: owner.name })
      : newReason("route_taken", { place });
    const { field = "pipeline" } = places.find((each) => each.domain === domain && each.path === path) ?? {};
    fields.push({ field, message });
  }
  if (fields.length > 0) throw new Fault("invalid", newReason("routes_refused"), { fields });
}
