import { servicesOf } from "../../model/pipeline.ts";
import type { Project } from "../../model/project.ts";
import { type RoutePlace, routeUrl } from "../../model/service/route.ts";
import { type RouteState, stateAt } from "../../model/service/running-service.ts";
import { serviceNameSchema } from "../../model/service/service.ts";
import { newReason } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { inSteps, summaryOf } from "../../task/service/request-summary.ts";
import { projectOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { reasonPartsShape } from "./reason-shape.ts";
import { newApi, routesOf } from "./route.ts";
import { id, time } from "./scalars.ts";
import { json, z } from "./shape.ts";

const route = routesOf("services");

const shownMs = 24 * 3_600_000;
const stepMs = 5 * 60_000;
const maxReleases = 100;

const routeShape = z
  .object({
    service: z.string().openapi({ example: "web" }),
    domain: z.string().openapi({ example: "shop.example.com" }),
    path: z.string().openapi({ example: "/" }),
    url: z.string(),
    state: z.enum(["ok", "fault", "unknown", "waiting", "removed"]).openapi({
      description:
        "`ok`: nothing is known to be wrong. `fault`: users do not reach it. `unknown`: the runner is away. `waiting`: the next deploy makes it. `removed`: it serves until the next deploy.",
    }),
    fault: z.string().openapi({ description: "What is wrong, and what to do; empty: nothing is known." }),
    faultParts: reasonPartsShape,
    certificateUntil: time.nullable(),
  })
  .openapi("RouteState");
export type RouteAnswer = z.infer<typeof routeShape>;

const listRoutes = route("get", "/projects/{id}/routes", {
  summary: "Routes of a project",
  description: "Those of its settings and those that its runner reports, with what is wrong with each.",
  access: { project: "view" },
  ok: json("The routes.", z.object({ routes: z.array(routeShape) }).openapi("Routes")),
});

const counts = {
  count: z.number().int(),
  success: z.number().int(),
  redirect: z.number().int(),
  clientError: z.number().int(),
  serverError: z.number().int().openapi({ description: "Those of the proxy itself included." }),
  p50Ms: z.number().openapi({ description: "Median over the minutes, weighted by requests." }),
  p95Ms: z.number(),
};
const begun = { taskId: id, commit: z.string(), at: time };

const requestsShape = z
  .object({
    total: z.object(counts),
    steps: z
      .array(z.object({ at: time, ...counts }))
      .openapi({ description: "Of five minutes each, those with requests." }),
    releases: z.array(z.object(begun)).openapi({ description: "Which began in this time, oldest first." }),
    sinceRelease: z
      .object({ ...begun, ...counts })
      .nullable()
      .openapi({ description: "Since the release that served last began; null: none has served." }),
  })
  .openapi("ServiceRequests");

const getRequests = route("get", "/projects/{id}/services/{name}/requests", {
  summary: "Requests to a service",
  description: "What the proxy answered in the last day.",
  access: { project: "view" },
  params: { name: serviceNameSchema },
  ok: json("The figures.", requestsShape),
});

export function serviceRoutesApi({ store }: ApiDeps) {
  async function writtenRoutes(project: Project): Promise<RouteAnswer[]> {
    const now = store.now();
    const reported = (await store.services.ofProject(project.id)).flatMap((service) => {
      const isAway = stateAt(service, now) === "unknown";
      return service.routes.map((state) => ({ service: service.name, state, isAway }));
    });
    const wanted = servicesOf(project.pipeline).flatMap(({ name, routes }) =>
      routes.flatMap(({ domains, path, tls }) =>
        domains.map((domain) => ({ service: name, domain, path, url: routeUrl({ tls }, { domain, path }) })),
      ),
    );
    const isSame = (a: RoutePlace, b: RoutePlace) => a.domain === b.domain && a.path === b.path;
    const removed = reported.filter(({ state }) => !wanted.some((each) => isSame(each, state)));
    return [
      ...wanted.map((place) => {
        const known = reported.find(({ state }) => isSame(state, place));
        if (!known) return written(place, "waiting", null);
        return written(
          place,
          known.isAway ? "unknown" : known.state.fault === "" ? "ok" : "fault",
          known.state,
        );
      }),
      ...removed.map(({ service, state }) => written({ service, ...state }, "removed", state)),
    ];
  }

  return newApi()
    .openapi(listRoutes, async (c) => c.json({ routes: await writtenRoutes(projectOf(c)) }, 200))
    .openapi(getRequests, async (c) => {
      const project = projectOf(c);
      const since = new Date(store.now().getTime() - shownMs);
      const minutes = await store.services.requests(project.id, c.req.valid("param").name, since);
      const releases = await store.releases.ofProject(project.id, maxReleases);
      const begunAt = ({ taskId, commit, deployedAt }: (typeof releases)[number]) => ({
        ...{ taskId, commit, at: deployedAt.toISOString() },
      });
      const last = await store.releases.servedLast(project.id);
      return c.json(
        {
          total: summaryOf(minutes),
          steps: inSteps(minutes, stepMs).map(({ at, ...step }) => ({ at: at.toISOString(), ...step })),
          releases: releases
            .filter(({ deployedAt }) => deployedAt >= since)
            .toSorted((a, b) => a.deployedAt.getTime() - b.deployedAt.getTime())
            .map(begunAt),
          sinceRelease: last && {
            ...begunAt(last),
            ...summaryOf(minutes.filter(({ at }) => at >= last.deployedAt)),
          },
        },
        200,
      );
    });
}

type Place = Pick<RouteAnswer, "service" | "domain" | "path" | "url">;

function written(
  { service, domain, path, url }: Place,
  state: RouteAnswer["state"],
  known: RouteState | null,
): RouteAnswer {
  const fault = state === "waiting" ? newReason("route_waiting") : (known?.fault ?? "");
  return {
    ...{ service, domain, path, url, state, certificateUntil: known?.certificateUntil ?? null },
    ...reasonJson({ fault }),
  };
}
