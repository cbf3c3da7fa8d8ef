import type { Project } from "../project.ts";
import type { RefTip } from "../ref-tip.ts";
import type { Task } from "../task.ts";
import type { User } from "../user.ts";

/** What one search looks for, and where. `visibleProjectIds` undefined: all projects. */
export interface SearchRequest {
  text: string;
  visibleProjectIds: number[] | undefined;
  limit: number;
}

export type FoundProject = Pick<Project, "id" | "name" | "git">;
export type FoundBranch = Pick<RefTip, "projectId" | "ref" | "commit">;
export type FoundTask = Pick<
  Task,
  "id" | "projectId" | "state" | "ref" | "commit" | "message" | "author" | "createdAt"
>;

export interface SearchKeeper {
  /** Projects whose name contains every word of the text; names that start with it come first. */
  projects(request: SearchRequest): Promise<FoundProject[]>;
  /** Branches and tags that were pushed, whose name contains the text. */
  branches(request: SearchRequest): Promise<FoundBranch[]>;
  /** Tasks whose commit starts with the text. */
  commits(request: SearchRequest): Promise<FoundTask[]>;
  /** Recent tasks whose message, author or starter contains every word of the text. */
  tasks(request: SearchRequest): Promise<FoundTask[]>;
  users(request: Pick<SearchRequest, "text" | "limit">): Promise<Pick<User, "id" | "username">[]>;
  /** Names of projects by their ids. */
  names(projectIds: number[]): Promise<Pick<Project, "id" | "name" | "liveTaskId" | "parentId">[]>;
}
