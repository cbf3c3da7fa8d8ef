import type { Reason } from "../reason/reason.ts";
import { revisionOf } from "../revision.ts";
import type { DeployRule } from "./approval/deploy-rule.ts";
import type { ExecutionSettings } from "./execution.ts";
import type { Page, PageRequest } from "./page.ts";
import type { Pipeline } from "./pipeline.ts";
import type { DiskUse } from "./service/disk-use.ts";

export const notifyEvents = [
  "task.queued",
  "task.started",
  "task.succeeded",
  "task.failed",
  "task.canceled",
  "task.timeout",
  "task.lost",
  "approval.requested",
  "delivery.rejected",
  "delivery.failed",
  "runner.gone",
  "service.down",
  "service.up",
] as const;
export type NotifyEvent = (typeof notifyEvents)[number];
export type TaskEvent = Extract<NotifyEvent, `task.${string}`>;

/** Events that a target receives only if it names them. */
export type OptionalEvent = Exclude<NotifyEvent, TaskEvent>;

export const notifyFormats = [
  "slipway",
  "slack",
  "discord",
  "dingtalk",
  "feishu",
  "wecom",
  "telegram",
  "push",
] as const;
export type NotifyFormat = (typeof notifyFormats)[number];

export interface NotifyTarget {
  id: string;
  format: NotifyFormat;
  /** Host and last four characters. The whole address is a credential and is stored encrypted, among the project's secrets. */
  url: string;
  /** Empty: all task events. */
  events: NotifyEvent[];
  /** How many of the last log lines a message has; 0: none. */
  logLines: number;
  /** Whether a signing secret is stored with the address. */
  hasSecret: boolean;
}

export interface CommitStatusSettings {
  /** Name of the status at the Git host; statuses of one commit with the same context replace each other. */
  context: string;
  /** Whether a push that a filter excluded gets a status that says why. */
  skipped: boolean;
}

/** Cancels older tasks of the same ref when a newer one is created: none, those queued, or running ones too. */
export type Supersede = "none" | "queued" | "running";

/** Whether the previous release comes back by itself when a deploy fails. */
export type Rollback = "automatic" | "off";

export const rollbackWithinDefault = 10;

export interface Project extends ExecutionSettings {
  id: number;
  name: string;
  groupId: number | null;
  /** `lfs`: whether the files of Git LFS are fetched; absent: no. */
  git: { url: string; ref: string; submodules: boolean; lfs?: boolean };
  pipeline: Pipeline;
  env: Record<string, string>;
  notify: NotifyTarget[];
  /** Whether the default target of the installation receives its messages too. */
  defaultNotify: boolean;
  commitStatus: CommitStatusSettings;
  /** Labels a runner must have to take its tasks. */
  labels: string[];
  supersede: Supersede;
  deploy: DeployRule;
  /** Whether a step must run in a container; see needsContainer. */
  needsContainer: boolean;
  /** Most that its releases and its data may take on a runner's disk; null: no limit. */
  diskMb: number | null;
  /** What they take; null: not measured yet. */
  disk: DiskUse | null;
  rollback: Rollback;
  /** Minutes after a deploy in which a crash loop brings the previous release back; 0: it does not. */
  rollbackWithin: number;
  /** Where users reach what it serves; empty: not known. */
  publicUrl: string;
  /** Domains that its routes may have: names, or `*.` and a name; null: nobody has said. */
  allowedDomains: string[] | null;
  /** The task whose commit is serving; null: none is known to. */
  liveTaskId: number | null;
  /** For people: why nothing is known to serve, or what happened to it last. */
  liveNote: Reason;
  /** The runner that holds its releases. Other runners do not get its tasks. */
  homeRunnerId: number | null;
  /** Made by the "try it" button; deleted with its repository. */
  sample: boolean;
  createdAt: Date;
}

export function projectRevision(project: Project): string {
  const { name, groupId, git, pipeline, env, notify, commitStatus, labels, supersede, rollback } = project;
  const { image, isolation, cache, limits, deploy, publicUrl, defaultNotify, rollbackWithin, diskMb } =
    project;
  const { allowedDomains } = project;
  return revisionOf({
    ...{ name, groupId, git, pipeline, env, notify, commitStatus, labels, supersede, rollback },
    ...{ image, isolation, cache, limits, deploy },
    // The revision of a project without these fields stays what it was before they existed.
    ...(publicUrl === "" ? {} : { publicUrl }),
    ...(defaultNotify ? {} : { defaultNotify }),
    ...(allowedDomains === null ? {} : { allowedDomains }),
    ...(diskMb === null ? {} : { diskMb }),
    ...(rollbackWithin === rollbackWithinDefault ? {} : { rollbackWithin }),
  });
}

export type GitCredential =
  | { type: "token"; username: string; token: string }
  | { type: "ssh"; privateKey: string };

export const secretScopes = ["all", "deploy"] as const;
/** Which stages get a secret: all of them, or only deploy and start. */
export type SecretScope = (typeof secretScopes)[number];

export const secretForms = ["variable", "file"] as const;
/** Whether scripts get a secret as the value of a variable, or as a file whose path the variable has. */
export type SecretForm = (typeof secretForms)[number];

/** Encrypted values of a project; the ciphertext's name is bound to it, so that rows cannot be swapped. */
export interface ProjectSecret {
  name: string;
  ciphertext: string;
  /** Null: nobody has chosen, and all stages get it. */
  scope: SecretScope | null;
  as: SecretForm;
}

export type NewSecret = Omit<ProjectSecret, "scope" | "as">;

export type ProjectChange = Partial<
  Omit<Project, "id" | "disk" | "liveTaskId" | "liveNote" | "homeRunnerId" | "sample" | "createdAt">
>;

type Defaulted =
  | keyof ExecutionSettings
  | "needsContainer"
  | "deploy"
  | "publicUrl"
  | "allowedDomains"
  | "defaultNotify"
  | "diskMb"
  | "rollbackWithin";

/** A project before it is stored; its execution is plain unless it says otherwise. */
export type NewProject = Omit<
  Project,
  "id" | "disk" | "liveTaskId" | "liveNote" | "homeRunnerId" | Defaulted
> &
  Partial<Pick<Project, Defaulted>>;

export interface ProjectKeeper {
  create(project: NewProject): Promise<Project>;
  byId(id: number): Promise<Project | null>;
  /**
   * Reads a project in order to change it or its webhook: until the transaction ends nobody else gets it this way, so
   * that of two changes at once the later one builds on the earlier.
   */
  hold(id: number): Promise<Project | null>;
  /** Alphabetical. `ids` restricts to visible projects. */
  list(
    filter: { ids?: number[]; groupId?: number; search?: string },
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
  secrets(id: number): Promise<ProjectSecret[]>;
  /** Names of the secrets of many projects at once, for lists. */
  secretNames(ids: number[]): Promise<({ projectId: number } & Omit<ProjectSecret, "ciphertext">)[]>;
  /** Reserved names: `credential` (clone credential), `notify` (signing key), `status` (commit status token), `notify-target …` (address of a target) carry a leading `:`. */
  setSecret(id: number, name: string, ciphertext: string): Promise<void>;
  /** Sets who gets a secret, and how, as far as it is given. */
  setSecretUse(id: number, name: string, use: Partial<Pick<ProjectSecret, "scope" | "as">>): Promise<void>;
  deleteSecret(id: number, name: string): Promise<boolean>;
}

/** Its tasks go first, a few at a time: to delete all logs at once would hold up all other writes. */
export async function deleteProject(
  projects: Pick<ProjectKeeper, "deleteSomeTasks" | "delete">,
  id: number,
): Promise<boolean> {
  while (await projects.deleteSomeTasks(id));
  return projects.delete(id);
}
