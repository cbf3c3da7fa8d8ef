import { z } from "zod";
import type { Page, PageRequest } from "../page.ts";
import type { Project } from "../project.ts";
import type { Task } from "../task.ts";

const count = z.number().int();

/** How many of the visible projects need attention. */
export const projectCounts = z.object({
  projects: count,
  /** Those whose last run failed. */
  broken: count,
  /** Those with a task that runs, is queued, or waits for an approval. */
  active: count,
});
export type ProjectCounts = z.infer<typeof projectCounts>;

export interface OverviewProject {
  project: Project;
  /** The last run that was not canceled failed, timed out or was lost. */
  isBroken: boolean;
}

/** A run as one mark in the strip of a project. */
export interface ProjectRun extends Pick<Task, "id" | "projectId" | "state" | "createdAt" | "finishedAt"> {
  /** Null: not started or not finished. */
  durationMs: number | null;
  /** It succeeded, but no stage had a script. */
  nothingRan: boolean;
}

/** The finished runs of a project in a period of time. Canceled runs do not count. */
export const runFigures = z.object({
  runs: count,
  succeeded: count,
  medianMs: count.nullable().meta({ description: "Of the runs that succeeded; null: none did." }),
});

export interface RunStatistics extends z.infer<typeof runFigures> {
  projectId: number;
  isCurrent: boolean;
}

/** The commit that is serving, with the time since when. */
export interface ServingTask {
  task: Task;
  since: Date | null;
}

export const overviewStates = ["broken", "active", "never_ran"] as const;

export interface OverviewFilter {
  visibleProjectIds?: number[];
  groupId?: number;
  /** Part of the name. */
  search?: string;
  state?: (typeof overviewStates)[number];
  /** Leaves out projects that never ran, unless none ran or `state` asks for them. */
  fold?: boolean;
}

export interface OverviewPage extends Page<OverviewProject> {
  /** Of all visible projects. */
  counts: ProjectCounts;
  /** Projects that match the filter but never ran, and were left out. */
  folded: number;
  /** All visible projects whose last run failed and that have no unfinished task, the latest first. */
  failing: number[];
}

export interface OverviewKeeper {
  /** Broken projects first, then those with unfinished tasks, then the others; in each part the latest task first. */
  projects(filter: OverviewFilter, page: PageRequest): Promise<OverviewPage>;
  /** The newest `count` runs of each project, oldest first. */
  runs(projectIds: number[], count: number): Promise<ProjectRun[]>;
  /** Current: since `since`. Previous: from `before` to `since`. Only the newest runs of each project are read. */
  statistics(projectIds: number[], since: Date, before: Date): Promise<RunStatistics[]>;
  /** Tasks with a runner and tasks that wait for an approval. */
  held(projectIds: number[]): Promise<Task[]>;
  serving(taskIds: number[]): Promise<ServingTask[]>;
  /** The newest tasks that succeeded, failed, timed out or were lost. */
  ended(visibleProjectIds: number[] | undefined, count: number): Promise<Task[]>;
}
