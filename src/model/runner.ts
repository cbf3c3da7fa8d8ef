import { revisionOf } from "../revision.ts";
import type { IsolationLevel } from "./execution.ts";
import type { Page, PageRequest } from "./page.ts";

/** A registered runner: a process that executes tasks. */
export interface Runner {
  id: number;
  name: string;
  labels: string[];
  tokenHash: string;
  /** Started by the server itself. */
  local: boolean;
  disabled: boolean;
  version: string;
  concurrency: number;
  /** Groups whose projects it may run; empty: all projects, with or without a group. */
  groupIds: number[];
  /** The labels that it was started with; null: all registered labels. */
  offeredLabels: string[] | null;
  /** Whether it takes projects without labels although it has labels. */
  alsoUnlabelled: boolean;
  /** Whether scripts run as a different user than the runner. */
  isolated: boolean;
  isolation: IsolationLevel;
  /** Whether it can run stages in containers. */
  containers: boolean;
  /** What it can do beyond runners of the first versions. */
  features: string[];
  lastSeenAt: Date | null;
  createdAt: Date;
}

/** A runner without a call for this long counts as disconnected. */
export const seenWithinMs = 90_000;

export function isSeen({ lastSeenAt }: Runner, now: Date): boolean {
  return lastSeenAt !== null && now.getTime() - lastSeenAt.getTime() < seenWithinMs;
}

/** A runner may offer fewer labels than registered, never more, because tasks carry secrets. */
export function labelsOf({ labels, offeredLabels }: Pick<Runner, "labels" | "offeredLabels">): string[] {
  return offeredLabels === null ? labels : labels.filter((label) => offeredLabels.includes(label));
}

export function runnerRevision({ name, labels, groupIds, disabled }: Runner): string {
  return revisionOf({ name, labels, groupIds, disabled });
}

/** Properties that a runner reports, with the values before its first report. */
type Reported =
  | "offeredLabels"
  | "alsoUnlabelled"
  | "isolated"
  | "isolation"
  | "containers"
  | "features"
  | "lastSeenAt"
  | "version";

export interface RunnerKeeper {
  create(
    runner: Omit<Runner, "id" | "groupIds" | Reported> & Partial<Pick<Runner, "groupIds">>,
  ): Promise<Runner>;
  byId(id: number): Promise<Runner | null>;
  /** Reads the current row and locks it until the transaction ends. */
  hold(id: number): Promise<Runner | null>;
  byTokenHash(tokenHash: string): Promise<Runner | null>;
  localOne(): Promise<Runner | null>;
  list(page: PageRequest): Promise<Page<Runner>>;
  /** Those that may take tasks of the project, by name. */
  ofProject(projectId: number): Promise<Runner[]>;
  update(
    id: number,
    change: Partial<
      Pick<Runner, "name" | "labels" | "groupIds" | "disabled" | "concurrency" | "tokenHash" | Reported>
    >,
  ): Promise<Runner | null>;
  /** Marks a runner as gone since its last call; false when it is marked already or has called again. */
  markGone(id: number, lastSeenAt: Date): Promise<boolean>;
  delete(id: number): Promise<boolean>;
}
