import type { Page, PageRequest } from "./page.ts";

/** A registered execution side. */
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
  /** Groups whose projects it may run; empty: those of every group, and those without one. */
  groupIds: number[];
  /** The labels that it was started with; null: all that it is registered with. */
  offeredLabels: string[] | null;
  /** Whether it takes projects without labels although it has labels itself. */
  alsoUnlabelled: boolean;
  /** Whether it runs scripts as another user than itself. */
  isolated: boolean;
  lastSeenAt: Date | null;
  createdAt: Date;
}

/** A runner that has not been heard of for this long does not count as there. */
const seenWithinMs = 90_000;

export function isSeen({ lastSeenAt }: Runner, now: Date): boolean {
  return lastSeenAt !== null && now.getTime() - lastSeenAt.getTime() < seenWithinMs;
}

/** A runner may offer fewer labels than it was registered with, never more: a task brings secrets along. */
export function labelsOf({ labels, offeredLabels }: Pick<Runner, "labels" | "offeredLabels">): string[] {
  return offeredLabels === null ? labels : labels.filter((label) => offeredLabels.includes(label));
}

/** What a runner tells of itself, and what nobody has told yet of a new one. */
type Told = "offeredLabels" | "alsoUnlabelled" | "isolated" | "lastSeenAt" | "version";

export interface RunnerKeeper {
  create(runner: Omit<Runner, "id" | "groupIds" | Told> & Partial<Pick<Runner, "groupIds">>): Promise<Runner>;
  byId(id: number): Promise<Runner | null>;
  /** Reads it as it is now: until the transaction ends nobody else changes it. */
  hold(id: number): Promise<Runner | null>;
  byTokenHash(tokenHash: string): Promise<Runner | null>;
  localOne(): Promise<Runner | null>;
  list(page: PageRequest): Promise<Page<Runner>>;
  update(
    id: number,
    change: Partial<
      Pick<Runner, "name" | "labels" | "groupIds" | "disabled" | "concurrency" | "tokenHash" | Told>
    >,
  ): Promise<Runner | null>;
  delete(id: number): Promise<boolean>;
}
