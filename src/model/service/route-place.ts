import { type Pipeline, servicesOf } from "../pipeline.ts";
import { type RoutePlace, routeUrl } from "./route.ts";

export interface ClaimedPlace extends RoutePlace {
  projectId: number;
}

export interface RoutePlaceKeeper {
  /** Makes these the places of the project, and gives those that other projects have; the transaction must then end. */
  claim(projectId: number, places: readonly RoutePlace[]): Promise<ClaimedPlace[]>;
}

/** The places of a pipeline with the fields that name them. */
export function placesIn(pipeline: Pick<Pipeline, "start">): (RoutePlace & { field: string })[] {
  return servicesOf(pipeline).flatMap(({ name, routes }) =>
    routes.flatMap(({ domains, path }, route) =>
      domains.map((domain, place) => ({
        ...{ domain, path },
        field: `pipeline.start.${name}.routes.${route}.domains.${place}`,
      })),
    ),
  );
}

/** The address of the first route; empty: there is none. */
export function firstRouteUrl(pipeline: Pick<Pipeline, "start">): string {
  const routes = servicesOf(pipeline).flatMap((service) => service.routes);
  const [first] = routes.flatMap(({ tls, path, domains }) =>
    domains.filter((domain) => !domain.startsWith("*.")).map((domain) => routeUrl({ tls }, { domain, path })),
  );
  return first ?? "";
}

/** Patterns are domains, or `*.example.com` for all names below one. */
export function isAllowedDomain(domain: string, patterns: readonly string[]): boolean {
  return patterns.some(
    (pattern) => pattern === domain || (pattern.startsWith("*.") && domain.endsWith(pattern.slice(1))),
  );
}
