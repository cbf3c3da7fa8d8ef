import { actsAsAdmin } from "../../account/permissions.ts";
import type { Keepers } from "../../model/store.ts";
import { isolationOf } from "../../task/isolation.ts";
import { type ApiContext, callerOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { projectNameOf } from "./project-names.ts";
import { newApi, routesOf } from "./route.ts";
import { id } from "./scalars.ts";
import { json, onlyGiven, z } from "./shape.ts";

const route = routesOf("overview");
const maxNamed = 5;
const maxUnsigned = 20;

const unsignedShape = z.object({
  items: z.array(z.object({ projectId: id, projectName: z.string() })),
  total: z.number().int(),
});

export const noticesShape = z
  .object({
    unsignedWebhooks: unsignedShape.openapi({ description: "Enabled webhooks without a secret." }),
    approvals: z
      .object({
        items: z.array(z.object({ taskId: id, projectId: id, projectName: z.string() })),
        total: z.number().int(),
      })
      .openapi({ description: "Tasks that wait for an approval." }),
    isolation: z
      .object({ isExposed: z.boolean(), notIsolated: z.array(z.string()) })
      .nullable()
      .openapi({ description: "Null for callers who are not admins." }),
  })
  .openapi("Notices");

const getNotices = route("get", "/notices", {
  summary: "What needs attention on every page of the console",
  description: `Of projects that the caller may view; each list names at most ${maxNamed}.`,
  access: "signed-in",
  ok: json("The notices.", noticesShape),
});

const listUnsigned = routesOf("webhook")("get", "/webhooks/unsigned", {
  summary: "Webhooks without a secret",
  description:
    `Projects whose webhook is enabled without a secret: anyone who knows the address can start builds. Lists at most ${maxUnsigned} ` +
    `projects that the caller may view, by name.`,
  access: "signed-in",
  ok: json("The projects and their total number.", unsignedShape.openapi("UnsignedWebhooks")),
});

export type NoticeKeepers = Pick<Keepers, "webhookConfigs" | "tasks" | "search" | "runners" | "permissions">;

export async function noticesFor(c: ApiContext, keepers: NoticeKeepers) {
  const caller = callerOf(c);
  const visibleProjectIds = await c.var.permissions.visibleProjectIds(caller);
  const waiting = await keepers.tasks.list(onlyGiven({ state: "waiting" as const, visibleProjectIds }), {
    page: 1,
    pageSize: maxNamed,
  });
  const nameOf = await projectNameOf(keepers.search, waiting.items);
  return {
    unsignedWebhooks: await keepers.webhookConfigs.unsigned(visibleProjectIds, maxNamed),
    approvals: {
      items: waiting.items.map(({ id: taskId, projectId }) => ({
        taskId,
        projectId,
        projectName: nameOf(projectId),
      })),
      total: waiting.total,
    },
    isolation: actsAsAdmin(caller) ? await isolationOf(keepers) : null,
  };
}

export function noticesApi({ store }: ApiDeps) {
  return newApi()
    .openapi(getNotices, async (c) => c.json(await noticesFor(c, store), 200))
    .openapi(listUnsigned, async (c) => {
      const visibleProjectIds = await c.var.permissions.visibleProjectIds(callerOf(c));
      return c.json(await store.webhookConfigs.unsigned(visibleProjectIds, maxUnsigned), 200);
    });
}
