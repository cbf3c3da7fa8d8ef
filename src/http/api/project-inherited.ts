import { secretForm, secretScope } from "../../model/settings/variables.ts";
import { inheritedBy } from "../../task/view/inherited-values.ts";
import { projectOf } from "./context.ts";
import type { ApiDeps } from "./deps.ts";
import { newApi, routesOf } from "./route.ts";
import { json, z } from "./shape.ts";

const route = routesOf("projects");

const hiddenBy = z.enum(["variable", "secret"]).nullable().openapi({
  description: "What of the project has the same name and hides it; null: the scripts of the project get it.",
});

const inheritedShape = z
  .object({
    group: z
      .object({ id: z.number().int(), name: z.string() })
      .nullable()
      .openapi({ description: "Null: the project is in no group, and inherits nothing." }),
    variables: z.array(z.object({ name: z.string(), value: z.string(), hiddenBy })),
    secrets: z.array(z.object({ name: z.string(), scope: secretScope, as: secretForm, hiddenBy })),
  })
  .openapi("InheritedValues");

const listInherited = route("get", "/projects/{id}/inherited", {
  summary: "What a project has of its group",
  description:
    "The variables of its group with their values, and the names of the secrets. What the project has itself hides what the group has under the same name.",
  access: { project: "view" },
  ok: json("Variables and secrets of the group.", inheritedShape),
});

export function projectInheritedApi({ store }: ApiDeps) {
  return newApi().openapi(listInherited, async (c) => {
    const inherited = await inheritedBy(store, projectOf(c));
    if (inherited === null) return c.json({ group: null, variables: [], secrets: [] }, 200);
    const secrets = inherited.secrets.map(({ scope, ...secret }) => ({ ...secret, scope: scope ?? "all" }));
    return c.json({ ...inherited, secrets }, 200);
  });
}
