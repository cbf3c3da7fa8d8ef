import type { Command } from "commander";
import type { ProjectAnswer } from "../../http/api/project-shape.ts";
import type { RouteAnswer } from "../../http/api/service-routes.ts";
import { servicesOf } from "../../model/pipeline.ts";
import { print, table } from "../output.ts";
import { addRemote, apiRemote, projectPath, type Remote, type RemoteOptions } from "./remote.ts";

/** `route`: where users reach services, and what is wrong there. */
export function addRouteCommands(program: Command): void {
  const route = program.command("route").description("routes of services: where users reach them");
  addRemote(route.command("list [project]"))
    .description("the routes of a project, or of all projects, with what is wrong with each")
    .action(listRoutes);
}

async function listRoutes(project: string | undefined, options: RemoteOptions): Promise<void> {
  const api = apiRemote(options);
  const routes = project === undefined ? await allRoutes(api) : await routesOf(api, project);
  const rows = routes.map((each) => ({
    ...each,
    "certificate until": each.certificateUntil,
    why: each.fault,
  }));
  print(options, { routes }, () =>
    table(rows, [
      ...(project === undefined ? (["project"] as const) : []),
      ...(["service", "url", "state", "certificate until", "why"] as const),
    ]),
  );
}

type NamedRoute = RouteAnswer & { project?: string };

async function routesOf(api: Remote, project: string): Promise<NamedRoute[]> {
  return (await api.get<{ routes: RouteAnswer[] }>(`${await projectPath(api, project)}/routes`)).routes;
}

async function allRoutes(api: Remote): Promise<NamedRoute[]> {
  const all: NamedRoute[] = [];
  for (let page = 1; ; page++) {
    const { items } = await api.get<{ items: ProjectAnswer[] }>(`/api/projects?page=${page}&pageSize=100`);
    for (const { id, name, pipeline, services } of items) {
      const hasRoutes = servicesOf(pipeline).some(({ routes }) => routes.length > 0);
      if (!hasRoutes && services === null) continue;
      const { routes } = await api.get<{ routes: RouteAnswer[] }>(`/api/projects/${id}/routes`);
      all.push(...routes.map((each) => ({ project: name, ...each })));
    }
    if (items.length < 100) return all;
  }
}
