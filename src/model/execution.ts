import { z } from "zod";
import { ruleText } from "../reason/rule-text.ts";
import { text } from "../reason/schema-forms.ts";
import { imageSchema } from "./service/image-name.ts";

/** What keeps scripts from what the runner can read: nothing, a sandbox for each step, or containers for all scripts. */
export const isolationLevels = ["none", "sandbox", "container"] as const;
export type IsolationLevel = (typeof isolationLevels)[number];
export const weakestIsolation = isolationLevels[0];
export const strongestIsolation = isolationLevels[2];

/** Bounds for each step of a project; null: none. `nice`: lower priority of the scripts. */
export const resourceLimits = z.object({
  memoryMb: z.number().int().min(16).max(1_048_576).nullable(),
  cpus: z.number().min(0.01).max(1024).nullable(),
  processes: z.number().int().min(8).max(1_000_000).nullable(),
  nice: z.number().int().min(0).max(19),
});
export type ResourceLimits = z.infer<typeof resourceLimits>;

export const noLimits: ResourceLimits = { memoryMb: null, cpus: null, processes: null, nice: 0 };

const cacheFolder = text(300, 1).refine((path) => {
  const parts = path.replace(/^~\//, "").split("/");
  const isPlain = parts.every((part) => !["", ".", "..", "~"].includes(part));
  return isPlain && parts[0] !== ".git";
}, ruleText("cache_outside"));

/** How the scripts of a project are run. */
export const executionSettings = z.object({
  image: imageSchema.meta({
    description: "Container image of the steps that name none; empty: they run without a container.",
    example: "node:22",
  }),
  isolation: z.enum(isolationLevels).meta({
    description: "The weakest isolation of a runner that may run the tasks of the project.",
  }),
  cache: z
    .array(cacheFolder)
    .max(20)
    .meta({
      description:
        "Folders of the workspace, or of the home folder (`~/…`), that builds keep for the next task; protected refs, other refs and each merge request of a fork have their own.",
      example: ["~/.npm"],
    }),
  limits: resourceLimits,
});
export type ExecutionSettings = z.infer<typeof executionSettings>;

/** For projects that say nothing about it. */
export const plainExecution: ExecutionSettings = {
  image: "",
  isolation: "none",
  cache: [],
  limits: noLimits,
};
