import { type ExecutionSettings, isolationLevels, noLimits } from "../../model/execution.ts";
import type { Project } from "../../model/project.ts";
import { imageSchema } from "../../model/service/image-name.ts";
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

const diskMb = z.number().int().min(1).max(1_073_741_824).nullable().openapi({
  description:
    "Most that releases and data of the project may take on its runner; the setting `runner.projectQuota` may be smaller. A deploy that exceeds it fails before its stage deploy.",
});

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
  limits: strict({ ...limits, diskMb })
    .partial()
    .optional(),
};

export const executionShape = {
  image: projectImage,
  isolation,
  cache,
  limits: z.object({ ...limits, diskMb }).openapi({
    description:
      "Bounds for each step, and `diskMb` for the project; null: none. `cpus` holds in containers, and where the runner has a control group of its own.",
  }),
};

/** Settings of a new project, or those that a change sets. */
export function mergeExecution(
  before: ExecutionSettings | null,
  { image, isolation, cache, limits: sent }: Partial<z.infer<z.ZodObject<typeof executionBody>>>,
): Partial<ExecutionSettings & Pick<Project, "diskMb">> {
  const { diskMb, ...ofSteps } = sent ?? {};
  const isSent = Object.keys(onlyGiven(ofSteps)).length > 0;
  const limits = isSent ? { ...(before?.limits ?? noLimits), ...onlyGiven(ofSteps) } : undefined;
  return onlyGiven({ image, isolation, cache, limits, diskMb });
}
