import { type ExecutionSettings, isolationLevels, noLimits } from "../../model/execution.ts";
import { imageSchema } from "../../model/pipeline.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { text } from "./scalars.ts";
import { onlyGiven, strict, z } from "./shape.ts";

const projectImage = imageSchema.meta({
  description: "Container image of the steps that name none; empty: they run without a container.",
  example: "node:22",
});

const cacheFolder = text(300, 1).refine((path) => {
  const parts = path.replace(/^~\//, "").split("/");
  const isPlain = parts.every((part) => !["", ".", "..", "~"].includes(part));
  return isPlain && parts[0] !== ".git";
}, ruleText("cache_outside"));

const cache = z
  .array(cacheFolder)
  .max(20)
  .openapi({
    description:
      "Folders of the workspace, or of the home folder (`~/…`), that builds keep for the next task; protected refs, other refs and each merge request of a fork have their own.",
    example: ["~/.npm"],
  });

const isolation = z.enum(isolationLevels).openapi({
  description: "The weakest isolation of a runner that may run the tasks of the project.",
});

const limits = {
  memoryMb: z.number().int().min(16).max(1_048_576).nullable(),
  cpus: z.number().min(0.01).max(1024).nullable(),
  processes: z.number().int().min(8).max(1_000_000).nullable(),
  nice: z.number().int().min(0).max(19),
};

/** Fields of a project. */
export const executionBody = {
  image: projectImage.optional(),
  isolation: z
    .enum([...isolationLevels, "user"])
    .transform((level) => (level === "user" ? "sandbox" : level))
    .openapi({
      description:
        "The weakest isolation of a runner that may run the tasks of the project. `user`, of versions before 2.0, means `sandbox`.",
    })
    .optional(),
  cache: cache.optional(),
  limits: strict(limits).partial().optional(),
};

export const executionShape = {
  image: projectImage,
  isolation,
  cache,
  limits: z.object(limits).openapi({
    description:
      "Bounds for each step; null: none. `cpus` holds in containers, and where the runner has a control group of its own.",
  }),
};

/** Settings of a new project, or those that a change sets. */
export function mergeExecution(
  before: ExecutionSettings | null,
  { image, isolation, cache, limits: sent }: Partial<z.infer<z.ZodObject<typeof executionBody>>>,
): Partial<ExecutionSettings> {
  const limits = sent && { ...(before?.limits ?? noLimits), ...onlyGiven(sent) };
  return onlyGiven({ image, isolation, cache, limits });
}
