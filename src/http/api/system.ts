import type { ApiDeps } from "./deps.ts";
import { newApi, routesOf } from "./route.ts";
import { json } from "./shape.ts";
import { systemShape } from "./system-shape.ts";

const route = routesOf("system");

const getSystem = route("get", "/system", {
  summary: "The state of the installation",
  description: "Version, address, database, disk, queue, runners and the effective settings.",
  access: "admin",
  ok: json("The state.", systemShape),
});

export function systemApi({ system }: ApiDeps) {
  return newApi().openapi(getSystem, async (c) => c.json(await system(), 200));
}
