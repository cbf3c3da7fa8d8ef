import { callerOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { newApi, routesOf } from "./route.ts";
import { id } from "./scalars.ts";
import { json, z } from "./shape.ts";

const route = routesOf("webhook");
/** The warning in the console names a few; `total` is the number of all. */
const maxNamed = 20;

const listUnsigned = route("get", "/webhooks/unsigned", {
  summary: "Webhooks without a secret",
  description:
    `Projects whose webhook is enabled without a secret: anyone who knows the address can start builds. Lists at most ${maxNamed} ` +
    `projects that the caller may view, by name.`,
  access: "signed-in",
  ok: json(
    "The projects and their total number.",
    z
      .object({
        items: z.array(z.object({ projectId: id, projectName: z.string() })),
        total: z.number().int(),
      })
      .openapi("UnsignedWebhooks"),
  ),
});

export function unsignedWebhooksApi({ store: { webhookConfigs } }: ApiDeps) {
  return newApi().openapi(listUnsigned, async (c) => {
    const visibleProjectIds = await c.var.permissions.visibleProjectIds(callerOf(c));
    return c.json(await webhookConfigs.unsigned(visibleProjectIds, maxNamed), 200);
  });
}
