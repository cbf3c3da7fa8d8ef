import { z } from "zod";
import { ruleText } from "../../reason/rule-text.ts";
import { httpUrl, strict, text } from "../../reason/schema-forms.ts";

/* What a start stage had in version 1.0 besides its script. */

const maxSwitch = 100_000;
const maxSettleSeconds = 600;

const timeoutSeconds = z.number().int().min(1).max(3600).default(60);

const healthCheckSchema = z
  .discriminatedUnion("type", [
    strict({ type: z.literal("command"), command: text(10_000, 1), timeoutSeconds }),
    strict({
      type: z.literal("tcp"),
      host: text(255, 1).regex(/^[\w.:-]+$/, ruleText("host_invalid")),
      port: z.union([z.number().int().min(1).max(65_535), z.literal("$PORT")]),
      timeoutSeconds,
    }),
    strict({
      type: z.literal("http"),
      // `$PORT` is filled in when the check runs.
      url: text(2000).refine(
        (value) => httpUrl.safeParse(value.replace(/\$(PORT\b|\{PORT\})/, "1")).success,
        ruleText("url_not_http"),
      ),
      timeoutSeconds,
      expect: text(1000, 1)
        .optional()
        .meta({ description: "Text that the response must contain.", example: "$CI_COMMIT" }),
    }),
  ])
  .nullable()
  .meta({ id: "HealthCheck" });
export type HealthCheck = NonNullable<z.infer<typeof healthCheckSchema>>;

export const startRulesSchema = z.object({
  healthCheck: healthCheckSchema,
  previous: z.enum(["stop-first", "stop-after-healthy", "keep"]).meta({
    description:
      "A service that replaces another one: `stop-first` ends that one before; `stop-after-healthy` runs both, on a port that the runner chooses ($PORT), and ends it at last. `keep` is for scripts that leave nothing in the background.",
  }),
  settleSeconds: z.number().int().min(0).max(maxSettleSeconds).meta({
    description: "5: a service without a health check must live for this long. Other values are refused.",
  }),
  log: text(500).meta({ description: "Empty: a service prints to its standard output." }),
  switch: text(maxSwitch).meta({
    description:
      "With `stop-after-healthy`: runs when the new service is healthy, to point a proxy to its $PORT.",
  }),
});
export type StartRules = z.infer<typeof startRulesSchema>;
