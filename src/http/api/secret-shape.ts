import { isReservedSecret } from "../../model/sealed.ts";
import type { ShownSecret } from "../../model/settings/stored-secret.ts";
import { secretForm, secretScope, variableName } from "../../model/settings/variables.ts";
import { text } from "./scalars.ts";
import { strict, z } from "./shape.ts";

/* What the endpoints for the secrets of projects and of groups have in common. */

export const secretParams = {
  name: variableName.meta({ param: { name: "name", in: "path" }, example: "DEPLOY_KEY" }),
};

export const secretBody = strict({
  value: text(65_536, 1),
  scope: secretScope.optional(),
  as: secretForm.optional(),
});

export const secretUseBody = strict({ scope: secretScope.optional(), as: secretForm.optional() });

export const secretsShape = z
  .array(
    z.object({
      name: z.string(),
      scope: secretScope,
      isScopeChosen: z.boolean().openapi({ description: "False: it is `all` because nobody has chosen." }),
      as: secretForm,
    }),
  )
  .openapi({ description: "Their names, and the stages that get them." });

/** The secrets for scripts, as the API answers them. */
export function secretsJson(secrets: readonly ShownSecret[]): z.infer<typeof secretsShape> {
  return secrets
    .filter(({ name }) => !isReservedSecret(name))
    .map(({ name, scope, as }) => ({ name, scope: scope ?? "all", isScopeChosen: scope !== null, as }));
}
