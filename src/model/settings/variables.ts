import { z } from "zod";
import { ruleText } from "../../reason/rule-text.ts";
import { text } from "../../reason/schema-forms.ts";

const maxVariables = 200;

/** A name that shells and programs take; `CI_…` is what Slipway itself tells scripts. */
export const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, ruleText("variable_name"))
  .refine((value) => !value.startsWith("CI_"), ruleText("variable_reserved"))
  .meta({ example: "DEPLOY_HOST" });

/** Variables that scripts get. */
export const variables = z
  .record(variableName, text(32_768))
  .refine(
    (value) => Object.keys(value).length <= maxVariables,
    ruleText("at_most_entries", { limit: maxVariables }),
  )
  .meta({ example: { NODE_ENV: "production" } });

/** Which stages get a secret: all of them, or only deploy and start. */
export const secretScope = z.enum(["all", "deploy"]).meta({
  description:
    "`all`: every stage gets it. `deploy`: only deploy and start, which an approval protects; builds of pushes do not.",
});
export type SecretScope = z.infer<typeof secretScope>;

/** Whether scripts get a secret as the value of a variable, or as a file whose path the variable has. */
export const secretForm = z.enum(["variable", "file"]).meta({
  description:
    "`variable`: scripts get the value in a variable. `file`: they get a file, and the variable has its path.",
});
export type SecretForm = z.infer<typeof secretForm>;
