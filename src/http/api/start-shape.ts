import { defaultSettleSeconds, type StartRules } from "../../model/project.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { text } from "./scalars.ts";
import { z } from "./shape.ts";

const maxScript = 100_000;
const maxSettleSeconds = 600;

const previous = z.enum(["stop-first", "stop-after-healthy", "keep"]).openapi({
  description:
    "The service of the previous release: `stop-first` ends it before the script runs; `stop-after-healthy` runs both, on a port that the runner chooses ($PORT), and ends it at last; `keep` leaves it to the script.",
});

const settleSeconds = z.number().int().min(0).max(maxSettleSeconds).openapi({
  description: "Without a health check, processes that the script started must live for this long.",
});

const log = text(500)
  .refine((path) => !path.startsWith("/") && !path.split("/").includes(".."), ruleText("log_outside"))
  .openapi({ description: "Log file of the service; its first minute is shown with the task." });

const switchScript = text(maxScript).openapi({
  description:
    "With `stop-after-healthy`: runs when the new service is healthy, to point a proxy to its $PORT.",
});

/** Fields of the start stage in requests, in addition to the fields of every stage. */
export const startFields = {
  previous: previous.optional(),
  settleSeconds: settleSeconds.optional(),
  log: log.optional(),
  switch: switchScript.optional(),
};

export const startShape = { previous, settleSeconds, log: z.string(), switch: z.string() };

type StartBody = { [Field in keyof typeof startFields]?: z.infer<(typeof startFields)[Field]> };

/** The rules after a change. A new project stops what ran before. */
export function mergeStart(before: StartRules | null, sent: StartBody | undefined): StartRules {
  const held: StartRules = before ?? { previous: "stop-first" };
  const rules = { ...held, ...sent };
  return {
    previous: rules.previous ?? held.previous,
    ...(rules.settleSeconds === undefined ? {} : { settleSeconds: rules.settleSeconds }),
    ...(rules.log ? { log: rules.log } : {}),
    ...(rules.switch?.trim() ? { switch: rules.switch } : {}),
  };
}

export function startJson(rules: StartRules) {
  return {
    previous: rules.previous,
    settleSeconds: rules.settleSeconds ?? defaultSettleSeconds,
    log: rules.log ?? "",
    switch: rules.switch ?? "",
  };
}
