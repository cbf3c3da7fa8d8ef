import type { Page, PageRequest } from "./page.ts";

export type StageName = "build" | "deploy" | "start";
export const stageNames = ["build", "deploy", "start"] as const satisfies StageName[];

export type HealthCheck =
  | { type: "command"; command: string; timeoutSeconds: number }
  | { type: "tcp"; host: string; port: number; timeoutSeconds: number }
  | { type: "http"; url: string; timeoutSeconds: number };

export interface Stage {
  /** Empty: the stage is skipped. */
  script: string;
  /** Seconds; null: tasks.timeout. */
  timeout: number | null;
  /** Folder inside the repository where the script runs; absent or empty: its root. */
  directory?: string;
  healthCheck?: HealthCheck | null;
}

export type TaskEvent =
  | "task.queued"
  | "task.started"
  | "task.succeeded"
  | "task.failed"
  | "task.canceled"
  | "task.timeout"
  | "task.lost";

export interface NotifyTarget {
  url: string;
  /** Empty: all. */
  events: TaskEvent[];
}

/** Cancels older tasks of the same ref when a newer one is created: none, those queued, or running ones too. */
export type Supersede = "none" | "queued" | "running";

export interface Project {
  id: number;
  name: string;
  groupId: number | null;
  git: { url: string; ref: string; submodules: boolean };
  stages: Record<StageName, Stage>;
  env: Record<string, string>;
  notify: NotifyTarget[];
  /** Labels a runner must have to take its tasks. */
  labels: string[];
  supersede: Supersede;
  /** Last task whose deploy succeeded: what is live now. */
  liveTaskId: number | null;
  /** Made by the "try it" button; deleted with its repository. */
  sample: boolean;
  createdAt: Date;
}

export type GitCredential =
  | { type: "token"; username: string; token: string }
  | { type: "ssh"; privateKey: string };

/** Encrypted values of a project; the ciphertext's name is bound to it, so that rows cannot be swapped. */
export interface ProjectSecret {
  name: string;
  ciphertext: string;
}

export interface ProjectChange {
  name?: string;
  groupId?: number | null;
  git?: Project["git"];
  stages?: Project["stages"];
  env?: Project["env"];
  notify?: NotifyTarget[];
  labels?: string[];
  supersede?: Supersede;
}

export interface ProjectKeeper {
  create(project: Omit<Project, "id" | "liveTaskId">): Promise<Project>;
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
  setLiveTask(id: number, taskId: number): Promise<void>;
  /** Removes the project with its webhook, tasks, logs, secrets and members; its deliveries stay as history. */
  delete(id: number): Promise<boolean>;
  secrets(id: number): Promise<ProjectSecret[]>;
  /** Names of the secrets of many projects at once, for lists. */
  secretNames(ids: number[]): Promise<{ projectId: number; name: string }[]>;
  /** Reserved names: `credential` (clone credential), `notify` (signing key), `status` (commit status token) carry a leading `:`. */
  setSecret(id: number, name: string, ciphertext: string): Promise<void>;
  deleteSecret(id: number, name: string): Promise<boolean>;
}
