import type { ApiServer } from "./api-server.ts";
import type { Side } from "./endpoint-access.ts";

/** An id that does not exist. */
export const missing = 2_000_000_000;

interface Member {
  noun: "project" | "group";
  userId: number;
  permission: "view" | "manage";
}

interface Things {
  project: number;
  group: number;
  task: number;
  delivery: number;
}

/** Two groups, each with a project, a task and a delivery. The members have permissions for the first one only. */
export interface PermissionScene {
  ids: Record<Side, Things>;
  endpoints: { method: string; path: string; key: string }[];
  make(side: Side): Promise<void>;
  /** The path with the ids of the scene. Other parameters name nothing, so that an allowed call changes nothing. */
  concrete(path: string, side: Side, id?: number): string;
}

export async function buildPermissionScene(server: ApiServer, members: Member[]): Promise<PermissionScene> {
  const { admin } = server;
  const nothing: Things = { project: 0, group: 0, task: 0, delivery: 0 };
  const ids = { own: nothing, foreign: nothing };

  /** Sends one delivery to the webhook of the project. */
  async function deliver(project: number): Promise<number> {
    const path = `/api/projects/${project}/webhook`;
    const { key } = await admin.expect<{ key: string }>(200, "PUT", path, { enabled: true });
    const hook = await server.anonymous.request("POST", `/api/hooks/git/${key}`, { event: "unknown" });
    return (hook.body as { deliveryId: number }).deliveryId;
  }

  async function make(side: Side): Promise<void> {
    const label = `${side} ${crypto.randomUUID()}`;
    const create = async (path: string, body: object) =>
      (await admin.expect<{ id: number }>(201, "POST", path, body)).id;
    const group = await create("/api/groups", { name: label });
    const git = { url: "https://git.example.com/shop.git" };
    const project = await create("/api/projects", { name: label, git, groupId: group });
    const task = await create(`/api/projects/${project}/tasks`, {});
    ids[side] = { project, group, task, delivery: await deliver(project) };
    if (side === "foreign") return;
    for (const { noun, userId, permission } of members) {
      const path = `/api/${noun}s/${ids.own[noun]}/members/${userId}`;
      await admin.expect(200, "PUT", path, { permission });
    }
  }

  function idOf(path: string, side: Side): number {
    if (path.startsWith("/api/webhooks/deliveries/")) return ids[side].delivery;
    if (path.startsWith("/api/samples/")) return ids[side].project;
    const noun = (["project", "group", "task"] as const).find((name) => path.startsWith(`/api/${name}s/`));
    return noun ? ids[side][noun] : missing;
  }

  await make("own");
  await make("foreign");
  const { paths } = await server.anonymous.expect<{ paths: Record<string, object> }>(
    200,
    "GET",
    "/api/openapi.json",
  );
  return {
    ids,
    endpoints: Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((name) => {
        const method = name.toUpperCase();
        return { method, path, key: `${method} ${path}` };
      }),
    ),
    make,
    concrete: (path, side, id = idOf(path, side)) =>
      path
        .replace("{id}", String(id))
        .replace("{userId}", String(missing))
        .replace("{identityId}", String(missing))
        .replace("{name}", "NOT_THERE")
        .replace("{kind}", "status-token"),
  };
}
