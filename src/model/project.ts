import { z } from "zod";
import { ruleText } from "../reason/rule-text.ts";
import { httpUrl, label, lineText, reasonSchema, text } from "../reason/schema-forms.ts";
import { revisionOf } from "../revision.ts";
import { deployRule, noApproval } from "./approval/deploy-rule.ts";
import { environmentSchema, maxEnvironments } from "./environment/environment.ts";
import { executionSettings, plainExecution } from "./execution.ts";
import { gitRef } from "./git/git-ref.ts";
import type { Page, PageRequest } from "./page.ts";
import { pipelineSchema } from "./pipeline.ts";
import { fileSource } from "./pipeline-file/file-source.ts";
import { type DiskUse, diskUse } from "./service/disk-use.ts";
import { allowedDomains } from "./service/route.ts";
import { commitStatusSettings } from "./settings/commit-status.ts";
import { notifyTarget } from "./settings/notify-target.ts";
import type { SecretKeeper } from "./settings/stored-secret.ts";
import { variables } from "./settings/variables.ts";

/*
 * From the schemas here derive the type of a project, its columns, its revision, and the body and the answer of the API with
 * their documents and the types of the console. A new field is added to `projectSettings` and `projectDefaults`, gets a column
 * by a migration, and is read where it has its effect.
 */

/** What users set. */
export const projectSettings = z.object({
  name: lineText,
  groupId: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER).nullable(),
  git: z.object({
    url: z.string(),
    ref: gitRef,
    submodules: z.boolean(),
    /** Absent: no. */
    lfs: z
      .boolean()
      .meta({
        description:
          "Whether the files of Git LFS are fetched, with the clone credential. The runner needs git-lfs.",
      })
      .optional(),
  }),
  /** Of a project with a file: what was read last for a deploy. */
  pipeline: pipelineSchema,
  pipelineFile: fileSource.nullable().meta({
    description: "The file of the repository that says the pipeline; null: the project says it.",
  }),
  env: variables,
  notify: z.array(notifyTarget).max(20),
  commitStatus: commitStatusSettings,
  /** A runner must have them to take its tasks. */
  labels: z.array(label).max(32),
  supersede: z.enum(["none", "queued", "running"]).meta({
    description:
      "Which older tasks of the same ref a new one cancels: none, those queued, or running ones too.",
  }),
  rollback: z.enum(["automatic", "off"]).meta({
    description:
      "Whether the previous release comes back by itself when deploy, start or the health check fails.",
  }),
  ...executionSettings.shape,
  deploy: deployRule,
  publicUrl: text(2000)
    .refine((value) => value === "" || httpUrl.safeParse(value).success, ruleText("url_not_http"))
    .meta({
      description:
        "Where users reach what the project serves: the link “Visit” of the console. Empty: that of its first route, or none.",
      example: "https://shop.example.com",
    }),
  defaultNotify: z.boolean().meta({
    description: "Whether the default target of the installation receives its messages too.",
  }),
  allowedDomains,
  diskMb: z.number().int().min(1).max(1_073_741_824).nullable().meta({
    description:
      "Most that releases and data of the project may take on its runner; the setting `runner.projectQuota` may be smaller. A deploy that exceeds it fails before its stage deploy.",
  }),
  rollbackWithin: z.number().int().min(0).max(1440).meta({
    description:
      "Minutes after a deploy in which services that end again and again bring the previous release back; 0: off.",
  }),
  environments: z.array(environmentSchema).max(maxEnvironments).meta({
    description:
      "Where the project serves, if that is in several places, such as staging and production. Empty: in one, by itself.",
  }),
});
type ProjectSettings = z.infer<typeof projectSettings>;

/** The settings with what the server knows of a project. */
export const projectSchema = projectSettings.extend({
  id: z.number().int(),
  /** Whether a step must run in a container; see needsContainer. */
  needsContainer: z.boolean(),
  /** What its releases and its data take; null: not measured yet. */
  disk: diskUse.nullable(),
  liveTaskId: z
    .number()
    .int()
    .nullable()
    .meta({ description: "The task whose commit is serving; null: none is known to serve." }),
  liveNote: reasonSchema.meta({
    description: "What happened to it last, for people; empty if there is nothing to say.",
    example: "abc1234 failed; def5678 is serving again.",
  }),
  homeRunnerId: z
    .number()
    .int()
    .nullable()
    .meta({ description: "The runner on which it was deployed, which gets its tasks." }),
  /** Made by the "try it" button; deleted with its repository. */
  sample: z.boolean(),
  createdAt: z.date(),
  fileRead: z
    .object({
      taskId: z.number().int(),
      ref: z.string(),
      commit: z.string(),
      at: z.iso.datetime(),
    })
    .nullable()
    .meta({ description: "From which commit its pipeline was read last; null: from none yet." }),
  parentId: z.number().int().nullable().meta({
    description: "Of an environment: the project that it belongs to. Null: it is a project.",
  }),
  environment: environmentSchema.nullable().meta({
    description: "What the project says about this environment; null: it is a project.",
  }),
});
export type Project = z.infer<typeof projectSchema>;

/** What a new project has unless it says otherwise. */
export const projectDefaults: Readonly<Omit<ProjectSettings, "name" | "git" | "pipeline" | "commitStatus">> =
  {
    groupId: null,
    pipelineFile: null,
    env: {},
    notify: [],
    labels: [],
    supersede: "none",
    rollback: "automatic",
    ...plainExecution,
    deploy: noApproval,
    publicUrl: "",
    defaultNotify: true,
    allowedDomains: null,
    diskMb: null,
    rollbackWithin: 10,
    environments: [],
  };

/** These have been in the revision since version 1.0. */
const firstFields = [
  ...[
    "name",
    "groupId",
    "git",
    "pipeline",
    "env",
    "notify",
    "commitStatus",
    "labels",
    "supersede",
    "rollback",
  ],
  ...["image", "isolation", "cache", "limits", "deploy"],
];

/** A later field is left out while it has its default: projects keep the revision that they had before the field existed. */
export function projectRevision(project: Project): string {
  const settings = Object.keys(projectSettings.shape).map((name) => [name, project[name as keyof Project]]);
  const defaults = new Map<unknown, unknown>(Object.entries(projectDefaults));
  return revisionOf(
    Object.fromEntries(
      settings.filter(([name, value]) => {
        // What a task has read from the repository is no change by a person.
        if (name === "pipeline" && project.pipelineFile !== null) return false;
        return firstFields.includes(String(name)) || !Bun.deepEquals(value, defaults.get(name));
      }),
    ),
  );
}

export type GitCredential =
  | { type: "token"; username: string; token: string }
  | { type: "ssh"; privateKey: string };

/** What only the server sets. */
type Known = "id" | "disk" | "liveTaskId" | "liveNote" | "homeRunnerId";

export type ProjectChange = Partial<Omit<Project, Known | "sample" | "createdAt">>;

/** A project before it is stored. */
export type NewProject = Omit<
  Project,
  Known | "needsContainer" | "fileRead" | "parentId" | "environment" | keyof typeof projectDefaults
> &
  Partial<Pick<Project, "needsContainer" | "parentId" | "environment" | keyof typeof projectDefaults>>;

/**
 * Names of secrets that the scripts do not get: `:credential` (clone credential), `:notify` (signing key), `:status` (commit
 * status token), `:notify-target …` (address of a target).
 */
export interface ProjectKeeper extends SecretKeeper {
  create(project: NewProject): Promise<Project>;
  byId(id: number): Promise<Project | null>;
  /**
   * Reads a project in order to change it or its webhook: until the transaction ends nobody else gets it this way, so
   * that of two changes at once the later one builds on the earlier.
   */
  hold(id: number): Promise<Project | null>;
  /** Of a project: its environments, in the order of their creation. */
  environmentsOf(parentIds: readonly number[]): Promise<Project[]>;
  /** Alphabetical, without environments unless they are asked for. `ids` restricts to visible projects. */
  list(
    filter: { ids?: number[]; groupId?: number; search?: string; withEnvironments?: boolean },
    page: PageRequest,
  ): Promise<Page<Project>>;
  update(id: number, change: ProjectChange): Promise<Project | null>;
  /** Null: nothing is known to serve. */
  setLive(
    id: number,
    live: Partial<Pick<Project, "liveTaskId" | "liveNote" | "homeRunnerId">>,
  ): Promise<void>;
  /** What a runner has measured. It counts if the project's releases are there, or nowhere yet. */
  setDisk(id: number, runnerId: number, disk: DiskUse): Promise<void>;
  /** Deletes a few of the project's tasks with their logs; false when there are none left. */
  deleteSomeTasks(id: number): Promise<boolean>;
  /** Removes the project with its webhook, tasks, logs, secrets and members; its deliveries stay as history. */
  delete(id: number): Promise<boolean>;
  /** Other projects whose commit statuses have this context, at most `limit`. */
  withStatusContext(
    context: string,
    exceptId: number,
    limit: number,
  ): Promise<Pick<Project, "id" | "name" | "git">[]>;
}

/** Its tasks go first, a few at a time: to delete all logs at once would hold up all other writes. */
export async function deleteProject(
  projects: Pick<ProjectKeeper, "deleteSomeTasks" | "delete">,
  id: number,
): Promise<boolean> {
  while (await projects.deleteSomeTasks(id));
  return projects.delete(id);
}
