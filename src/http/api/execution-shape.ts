import { type ExecutionSettings, isolationLevels, noLimits } from "../../model/execution.ts";
import type { Stage } from "../../model/project.ts";
import { ruleText } from "../../reason/rule-text.ts";
import { text } from "./scalars.ts";
import { onlyGiven, strict, z } from "./shape.ts";

/** As engines write it: host, path, tag or digest. It must not begin with a dash, which would be an option. */
const imageRule =
  /^[a-z0-9][\w.-]*(:\d{1,5})?(\/[a-z0-9][\w.-]*)*(:[\w][\w.-]{0,127})?(@[a-z0-9]+:[0-9a-f]{32,128})?$/i;

const image = text(300)
  .refine((value) => value === "" || imageRule.test(value), ruleText("image_invalid"))
  .openapi({ example: "node:22" });

const projectImage = image.openapi({
  description: "Container image of the stages that name none; empty: they run without a container.",
});

const cacheFolder = text(300, 1).refine(
  (path) =>
    !path.startsWith("/") &&
    path.split("/").every((part) => part !== ".." && part !== "." && part !== "") &&
    path.split("/")[0] !== ".git",
  ruleText("cache_outside"),
);

const cache = z
  .array(cacheFolder)
  .max(20)
  .openapi({
    description:
      "Folders of the workspace that builds keep for the next task; protected refs, other refs and each merge request of a fork have their own.",
    example: [".npm"],
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

/** Fields of a stage. */
export const stageContainerBody = {
  image: image.optional().openapi({ description: "Container image; empty: the project's." }),
  network: z.enum(["bridge", "none"]).optional().openapi({
    description: "`none`: the script has no network, which needs a container.",
  }),
};

export const stageContainerShape = {
  image: z.string().optional(),
  network: z.literal("none").optional(),
};

/** Fields of a project. */
export const executionBody = {
  image: projectImage.optional(),
  isolation: isolation.optional(),
  cache: cache.optional(),
  limits: strict(limits).partial().optional(),
};

export const executionShape = {
  image: projectImage,
  isolation,
  cache,
  limits: z.object(limits).openapi({
    description: "Bounds for each stage; null: none. `cpus` holds in containers only.",
  }),
};

type StageBody = Partial<z.infer<z.ZodObject<typeof stageContainerBody>>>;

/** What a stage says about containers after a change. */
export function mergeStageContainer(
  held: Stage,
  sent: StageBody | undefined,
): Pick<Stage, "image" | "network"> {
  const image = sent?.image ?? held.image ?? "";
  const network = sent?.network ?? held.network;
  return { ...(image === "" ? {} : { image }), ...(network === "none" ? { network } : {}) };
}

/** Settings of a new project, or those that a change sets. */
export function mergeExecution(
  before: ExecutionSettings | null,
  { image, isolation, cache, limits: sent }: Partial<z.infer<z.ZodObject<typeof executionBody>>>,
): Partial<ExecutionSettings> {
  const limits = sent && { ...(before?.limits ?? noLimits), ...onlyGiven(sent) };
  return onlyGiven({ image, isolation, cache, limits });
}
