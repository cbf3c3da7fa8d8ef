import type { ServiceState } from "../src/model/service/service.ts";
import type { Project, Release } from "./shapes.ts";

/** What may be said about the release that was deployed last. `unchecked`: nothing shows whether it serves. */
export type Serving = "serving" | "unchecked" | "deploying" | "never" | "unknown" | ServiceState;

/** A deploy is on its way to take the place of what served. */
const replacing = ["live_deploying", "live_replacing", "live_replacing_service"];
/** A rollback has put the release back, and nothing has asked it since. */
const putBack = "put_back";

/** @param release the live release; undefined until it is loaded */
export function servingOf(
  project: Pick<Project, "liveTaskId" | "liveNote" | "liveNoteParts" | "services">,
  release: Pick<Release, "isChecked"> | undefined,
): Serving {
  const { liveTaskId, liveNote, liveNoteParts, services } = project;
  const has = (codes: string[]) => liveNoteParts.some(({ code }) => codes.includes(code));
  if (has(replacing) && liveTaskId === null) return "deploying";
  if (services !== null && services.state !== "serving" && !has(replacing)) return services.state;
  if (liveTaskId === null) return liveNote === "" ? "never" : "unknown";
  return release?.isChecked === true && !has([putBack]) ? "serving" : "unchecked";
}
