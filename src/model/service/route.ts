import { z } from "zod";
import { newReason, type Reason } from "../../reason/reason.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { saidReason } from "../../reason/said-reason.ts";
import { strict, text } from "../../reason/schema-forms.ts";
import { given } from "./given.ts";

/*
 * A route is where users reach a service: domains and a path, which the proxy of the runner passes on to the service's port.
 * The patterns are strict because domains, paths and headers become part of the proxy's configuration, in which braces have a
 * meaning. Only the maintenance page may be any text: the proxy serves it from a file.
 */

/** The proxies that serve routes. */
export const proxyNames = ["caddy", "nginx"] as const;
export type ProxyName = (typeof proxyNames)[number];

const maxDomains = 20;
const maxRoutes = 20;
const maxDomainLength = 253;

const label = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
/** The last label begins with a letter: an address of four numbers is no domain. */
const domainPattern = new RegExp(`^(\\*\\.)?(${label}\\.)*(?=[a-z])${label}$`);
const pathPattern = /^\/$|^(\/[A-Za-z0-9._~-]+)+$/;

export const domainSchema = z
  .string()
  .max(maxDomainLength)
  .regex(domainPattern, ruleText("route_domain"))
  .meta({
    description: "Lower-case; names with other letters in their punycode form (`xn--…`).",
    example: "shop.example.com",
  });

/** Of a project, and of a group: which domains their routes may have. */
export const allowedDomains = z
  .array(domainSchema)
  .max(200)
  .nullable()
  .meta({
    description:
      "Domains that routes may have: names, or `*.example.com` for all below one. Set by administrators; those of a project and of its group count together. Null: nobody has said.",
    example: ["*.example.com"],
  });

const pathSchema = z
  .string()
  .max(200)
  .refine(
    (path) => pathPattern.test(path) && path.split("/").every((part) => part !== "." && part !== ".."),
    ruleText("route_path"),
  )
  .meta({
    description:
      "`/api` has `/api` and all below `/api/`. The service gets the whole path. The longest path counts.",
    example: "/",
  });

const headerNames = [
  "strict-transport-security",
  "content-security-policy",
  "x-frame-options",
  "x-content-type-options",
  "referrer-policy",
  "permissions-policy",
  "cross-origin-opener-policy",
  "cross-origin-embedder-policy",
  "cross-origin-resource-policy",
  "cache-control",
  "x-robots-tag",
] as const;

/** Printable characters without braces. */
const headerValue = z
  .string()
  .min(1)
  .max(2000)
  .regex(/^[\x20-\x7a|~]+$/, ruleText("route_header"));

type HeaderName = (typeof headerNames)[number];

const headersBody = strict(
  Object.fromEntries(headerNames.map((name) => [name, headerValue])) as Record<
    HeaderName,
    typeof headerValue
  >,
).partial();

const routeFields = {
  domains: z.array(domainSchema).min(1).max(maxDomains),
  path: pathSchema,
  tls: z.enum(["auto", "internal", "off"]).meta({
    description:
      "`auto`: a certificate of a public authority. `internal`: one of the proxy's own authority, for private networks. `off`: http only.",
  }),
  redirect: z.boolean().meta({ description: "Whether http is answered with a redirect to https." }),
  headers: z
    .partialRecord(z.enum(headerNames), headerValue)
    .meta({ description: "Headers that the proxy adds to responses, from a fixed list." }),
  maintenance: text(65_536).meta({
    description: "HTML that is shown while nothing serves, with status 503. Empty: a plain page.",
  }),
};

export const routeSchema = z.object(routeFields).meta({ id: "Route" });
export type Route = z.infer<typeof routeSchema>;

export const routeDefaults: Omit<Route, "domains"> = {
  path: "/",
  tls: "auto",
  redirect: true,
  headers: {},
  maintenance: "",
};

const routeBody = strict({ ...routeFields, headers: headersBody })
  .partial()
  .required({ domains: true });
export const routesBody = z.array(routeBody).max(maxRoutes);

export function completeRoute({ domains, headers = {}, ...sent }: z.infer<typeof routeBody>): Route {
  return { ...routeDefaults, ...given(sent), domains, headers: given(headers) };
}

/** What the proxy tells apart: no two projects have the same. */
export interface RoutePlace {
  domain: string;
  path: string;
}

export function placeText({ domain, path }: RoutePlace): string {
  return path === "/" ? domain : `${domain}${path}`;
}

/** The address that people open. For a wildcard it is the domain below which the names are. */
export function routeUrl({ tls }: Pick<Route, "tls">, { domain, path }: RoutePlace): string {
  return `${tls === "off" ? "http" : "https"}://${domain.replace(/^\*\./, "")}${path}`;
}

/**
 * What is wrong with routes whose fields are valid by themselves. `others`: the routes of services before this one in the project.
 */
export function routeFaults(
  routes: readonly Route[],
  others: readonly Route[],
): { path: (string | number)[]; message: Reason }[] {
  return routes.flatMap((route, index) => {
    const before = [...others, ...routes.slice(0, index)];
    return route.domains.flatMap((domain, place) => {
      const message = domainFault(route, domain, place, before);
      return message === null ? [] : [{ path: [index, "domains", place], message }];
    });
  });
}

function domainFault(route: Route, domain: string, place: number, before: readonly Route[]): Reason | null {
  const { domains, path, tls } = route;
  if (tls === "auto" && domain.startsWith("*.")) return newReason("route_wildcard");
  if (tls === "auto" && !domain.includes(".")) return newReason("route_local");
  const same = before.filter((other) => other.domains.includes(domain));
  if (domains.indexOf(domain) !== place || same.some((other) => other.path === path))
    return newReason("route_repeated", { place: placeText({ domain, path }) });
  const other = same.find((each) => each.tls !== tls);
  return other ? newReason("route_tls_differs", { domain, tls: other.tls }) : null;
}

/** What a runner reports of one domain of a route. */
export const routeReport = strict({
  domain: domainSchema,
  path: pathSchema,
  url: text(500),
  /** Why users do not reach it; null: nothing is known to be wrong. */
  fault: z.object(saidReason).nullable(),
  certificateUntil: z.iso.datetime().nullable(),
});
export type RouteReport = z.infer<typeof routeReport>;

const count = z.number().int().min(0);
const milliseconds = z.number().min(0);

/** What the proxy answered for a service in one minute, by kind of status; its own 502 and 503 are server errors. */
export const requestFigures = strict({
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  count,
  success: count,
  redirect: count,
  clientError: count,
  serverError: count,
  p50Ms: milliseconds,
  p95Ms: milliseconds,
});
export type RequestFigures = z.infer<typeof requestFigures>;
