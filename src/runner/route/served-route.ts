import { createHash } from "node:crypto";
import type { Route, RoutePlace } from "../../model/service/route.ts";

/** One domain and path of a service's route. */
export interface ServedRoute extends RoutePlace, Pick<Route, "tls" | "redirect" | "headers" | "maintenance"> {
  projectId: number;
  service: string;
}

export function servedRoutes(
  projectId: number,
  service: { name: string; routes: readonly Route[] },
): ServedRoute[] {
  return service.routes.flatMap(({ domains, ...route }) =>
    domains.map((domain) => ({ ...route, domain, projectId, service: service.name })),
  );
}

export const isSamePlace = (one: RoutePlace, other: RoutePlace) =>
  one.domain === other.domain && one.path === other.path;

/** Name of the file that says where the requests of a place go: domain and path together may be too long for a name. */
export function fileNameOf({ domain, path }: RoutePlace): string {
  return createHash("sha256").update(`${domain}${path}`).digest("hex").slice(0, 32);
}
