import { newReason, type Reason } from "../../reason/reason.ts";
import { type Pipeline, servicesOf } from "../pipeline.ts";
import { type RoutePlace, routeUrl } from "./route.ts";

export interface ClaimedPlace extends RoutePlace {
  projectId: number;
}

export interface RoutePlaceKeeper {
  /** Makes these the places of the project, and gives those that other projects have; the transaction must then end. */
  claim(projectId: number, places: readonly RoutePlace[]): Promise<ClaimedPlace[]>;
}

type NamedDomain = Pick<RoutePlace, "domain"> & { field: string };

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
function isAllowedDomain(domain: string, patterns: readonly string[]): boolean {
  return patterns.some(
    (pattern) => pattern === domain || (pattern.startsWith("*.") && domain.endsWith(pattern.slice(1))),
  );
}

/** The domains that a project names, with the fields that name them: its environments may have others than its pipeline. */
export function namedDomains({
  pipeline,
  environments,
}: {
  pipeline: Pick<Pipeline, "start">;
  environments: readonly { domains: Record<string, string> }[];
}): NamedDomain[] {
  const ofEnvironments = environments.flatMap(({ domains }, index) =>
    Object.values(domains).map((domain) => ({ domain, field: `environments.${index}.domains` })),
  );
  return [...placesIn(pipeline), ...ofEnvironments];
}

/** Who says which domains a project may use: administrators, for it and for its group; null: nobody has. */
export interface DomainRule {
  ofProject: string[] | null;
  ofGroup: string[] | null;
  /** What holds if nobody has said it; see the setting routes.anyDomain. */
  anyDomain: boolean;
}

/** The domains that a project may not have. Those of `before` stay, whatever the rule is now. */
export function refusedDomains(
  after: NamedDomain[],
  before: NamedDomain[],
  { ofProject, ofGroup, anyDomain }: DomainRule,
): { field: string; message: Reason }[] {
  const lists = [ofProject, ofGroup].filter((list) => list !== null);
  if (lists.length === 0 && anyDomain) return [];
  const allowed = lists.flat();
  const held = before.map(({ domain }) => domain);
  const message =
    allowed.length > 0
      ? newReason("route_not_allowed", { allowed: allowed.join(", ") })
      : newReason("route_none_allowed");
  return after
    .filter(({ domain }) => !held.includes(domain) && !isAllowedDomain(domain, allowed))
    .map(({ field }) => ({ field, message }));
}
