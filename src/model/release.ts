import type { Pipeline } from "./pipeline.ts";

/**
 * `candidate`: its task runs. `kept`: its workspace is on its runner, so that it can serve again without a build. `gone`:
 * the workspace was removed; scripts and environment are still known.
 */
export type ReleaseState = "candidate" | "kept" | "gone";

/** What one task put in place: a commit with the scripts and the plain environment that it was made with. */
export interface Release {
  /** The task that built it. */
  taskId: number;
  projectId: number;
  attempt: number;
  runnerId: number;
  state: ReleaseState;
  ref: string;
  commit: string;
  message: string;
  author: string;
  /** Stages that the task left out have no steps. */
  pipeline: Pipeline;
  env: Record<string, string>;
  /** The ids of the images of its services in containers, by service: names of images may change hands. */
  images: Record<string, string>;
  /** The task of another environment that built it; null: its own task did. */
  promotedFrom: number | null;
  /** Of its files, when it was sealed; null: it was not, or by a version that recorded none. */
  digest: string | null;
  /** Size of its workspace; null: not measured. */
  bytes: number | null;
  /** Its position in the order in which releases were first deployed. A rollback changes no position; 0: it never served. */
  place: number;
  /** The place of the release that had served last when this one was first deployed; 0: none. */
  replacedPlace: number;
  /** When it last began to serve; of a candidate, when its task was handed out. */
  deployedAt: Date;
  /** When its service was seen to exit by itself, soon after a start; null: not since it last began to serve. */
  endedAt: Date | null;
  /** When the server began a rollback because of a crash loop; null: not since it last began to serve. */
  rolledBackAt: Date | null;
}

/** The first minute of output of a service, as versions before 2.0 stored it. */
export interface ServiceOutput {
  output: string;
  /** All processes of the service exited within that minute. */
  hasExited: boolean;
}

export interface ReleaseKeeper {
  /** Replaces the release of an earlier attempt of the same task. */
  put(release: Release): Promise<void>;
  ofTask(taskId: number): Promise<Release | null>;
  /** Those that have served, by place, the last one first. */
  ofProject(projectId: number, limit: number): Promise<Release[]>;
  /** The one that began to serve last, whether it still does or not. */
  servedLast(projectId: number): Promise<Release | null>;
  update(taskId: number, change: Partial<Omit<Release, "taskId" | "projectId">>): Promise<void>;
  /** Of the project's releases on this runner only these are kept. */
  keepOnly(
    projectId: number,
    runnerId: number,
    kept: { taskId: number; bytes: number | null; digest?: string | undefined }[],
  ): Promise<void>;
  delete(taskId: number): Promise<void>;
  output(taskId: number): Promise<ServiceOutput | null>;
}
