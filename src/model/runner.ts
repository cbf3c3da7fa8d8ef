import type { Reason } from "../reason/reason.ts";
import { revisionOf } from "../revision.ts";
import { type IsolationLevel, isolationLevels } from "./execution.ts";
import type { Page, PageRequest } from "./page.ts";
import type { ProxyName } from "./service/route.ts";

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
  /** The highest isolation that an administrator believes it to have. */
  trustedIsolation: IsolationLevel;
  /** The isolation that it reports, which the server cannot verify. See `effectiveIsolation`. */
  reportedIsolation: IsolationLevel;
  /** Why its scripts are not isolated, as it reports it; empty: they are, or it does not say why. */
  isolationNote: Reason;
  /** The proxy with which it serves routes, as it reports it; null: it cannot serve any. */
  proxy: ProxyName | null;
  /** Why it has none and how it gets one, or what is wrong with it; empty: it says nothing. */
  proxyNote: Reason;
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

/** The isolation that counts: the weaker of what the runner reports and what an administrator believes. */
export function effectiveIsolation({
  trustedIsolation,
  reportedIsolation,
}: Pick<Runner, "trustedIsolation" | "reportedIsolation">): IsolationLevel {
  const isBelieved = isolationLevels.indexOf(reportedIsolation) <= isolationLevels.indexOf(trustedIsolation);
  return isBelieved ? reportedIsolation : trustedIsolation;
}

export function runnerRevision({
  name,
  labels,
  groupIds,
  alsoUnlabelled,
  trustedIsolation,
  disabled,
}: Runner): string {
  return revisionOf({ name, labels, groupIds, alsoUnlabelled, trustedIsolation, disabled });
}

/** The rules that can keep a runner from the tasks of a project, in the order in which they are checked. */
export const claimRules = [
  "wait_group_labels",
  "wait_no_labels",
  "wait_disabled",
  "wait_unlabelled",
  "wait_bound",
  "wait_isolation",
  "wait_isolation_unconfirmed",
  "wait_container",
  "wait_home",
] as const;
export type ClaimRule = (typeof claimRules)[number];

/** The runners that one rule, the first that applies, keeps from a project; with `rule` null those that may take its tasks. */
export interface RunnersUnderRule {
  rule: ClaimRule | null;
  /** Joined with commas; empty: there are no runners, which this rule says. */
  names: string;
  /** The last call of any of them. */
  lastSeenAt: Date | null;
  /** The name of the runner that holds the project's releases, if it is one of them. */
  home: string | null;
  /** Of the project, as its isolation and its group. */
  labels: string[];
  isolation: IsolationLevel;
  group: { name: string; labels: string[] | null } | null;
}

/** Properties that an administrator sets. */
type Registered = "name" | "labels" | "groupIds" | "alsoUnlabelled" | "trustedIsolation" | "disabled";
export type Registration = Pick<Runner, Registered>;

/** Properties that a runner reports, with the values before its first report. */
type Reported =
  | "offeredLabels"
  | "reportedIsolation"
  | "isolationNote"
  | "proxy"
  | "proxyNote"
  | "containers"
  | "features"
  | "lastSeenAt"
  | "version";

/** Properties of a registration that have defaults. */
type Optional = "groupIds" | "alsoUnlabelled" | "trustedIsolation";

export interface RunnerKeeper {
  create(runner: Omit<Runner, "id" | Reported | Optional> & Partial<Pick<Runner, Optional>>): Promise<Runner>;
  byId(id: number): Promise<Runner | null>;
  /** Reads the current row and locks it until the transaction ends. */
  hold(id: number): Promise<Runner | null>;
  byTokenHash(tokenHash: string): Promise<Runner | null>;
  localOne(): Promise<Runner | null>;
  list(page: PageRequest): Promise<Page<Runner>>;
  /** Those that may take tasks of the project, by name. */
  ofProject(projectId: number): Promise<Runner[]>;
  /** How the rules of a claim divide the runners, by project; with `runnerId` as if there were no other runner. */
  underRules(projectIds: readonly number[], runnerId?: number): Promise<Record<number, RunnersUnderRule[]>>;
  update(
    id: number,
    change: Partial<Pick<Runner, Registered | "concurrency" | "tokenHash" | Reported>>,
  ): Promise<Runner | null>;
  /** Marks a runner as gone since its last call; false when it is marked already or has called again. */
  markGone(id: number, lastSeenAt: Date): Promise<boolean>;
  delete(id: number): Promise<boolean>;
}
