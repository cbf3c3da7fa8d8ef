import type { Keepers } from "../../model/store.ts";
import { callerOf } from "./context.ts";
import { newApi, route } from "./route.ts";
import { id, json, z } from "./shape.ts";

/** A warning names a few; the total says how many there are. */
const maxNamed = 20;

const listUnsigned = route({
  method: "get",
  path: "/webhooks/unsigned",
  tags: ["webhook"],
  summary: "Webhooks without a secret",
  description:
    `Projects whose webhook is enabled without a secret: anyone who knows the address can start builds. Of those that the caller ` +
    `may view, at most ${maxNamed}, by name.`,
  access: "signed-in",
  responses: {
    200: json(
      "The projects, and how many there are.",
      z
        .object({
          items: z.array(z.object({ projectId: id, projectName: z.string() })),
          total: z.number().int(),
        })
        .openapi("UnsignedWebhooks"),
    ),
  },
});

export function unsignedWebhooksApi({ webhookConfigs }: Pick<Keepers, "webhookConfigs">) {
  return newApi().openapi(listUnsigned, async (c) => {
    const visibleProjectIds = await c.var.permissions.visibleProjectIds(callerOf(c));
    return c.json(await webhookConfigs.unsigned(visibleProjectIds, maxNamed), 200);
  });
}
