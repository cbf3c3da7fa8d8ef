import { z } from "zod";
import { ruleText } from "../../reason/rule-text.ts";
import { strict } from "../../reason/schema-forms.ts";
import { isStageAsked, type StageName, stageNames } from "./stage-name.ts";

const isAsked = z.boolean().optional();

/** Which stages of a project a task runs: missing booleans mean true; `fromStage` drops the stages before it. */
export const actionsSchema = z.object({
  ...(Object.fromEntries(stageNames.map((name) => [name, isAsked])) as Record<StageName, typeof isAsked>),
  fromStage: z.enum(stageNames).nullable().optional(),
});
export type Actions = z.infer<typeof actionsSchema>;

/** What a request may ask for: at least one stage. */
export const actionsBody = strict(actionsSchema.shape)
  .refine((asked) => stageNames.some((name) => isStageAsked(asked, name)), ruleText("no_stage"))
  .meta({
    id: "Actions",
    description: "Missing booleans mean true; `fromStage` drops the stages before it.",
  });
