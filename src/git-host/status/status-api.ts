import type { RepositoryPlace } from "../../model/git/repository-place.ts";
import { inUrl } from "../delivery/in-url.ts";
import { at } from "../delivery/json-reader.ts";

/** A state of a task. `replaced`: a later push took over the task. `skipped`: a filter excluded the push. Neither is a failure. */
export type StatusState =
  | "queued"
  | "dispatched"
  | "running"
  | "canceling"
  | "waiting"
  | "success"
  | "failed"
  | "canceled"
  | "timeout"
  | "lost"
  | "replaced"
  | "skipped";

/** The status of one commit, independent of the host. */
export interface StatusReport {
  state: StatusState;
  /** Every host takes its length. */
  description: string;
  context: string;
  commit: string;
  targetUrl: string;
}

type Body = Readonly<Record<string, unknown>>;

export interface LookUpAnswer {
  status: number;
  json: unknown;
}

/** How a Git host accepts commit statuses. */
export interface StatusApi {
  /** Its name in stored calls. */
  proof: string;
  /** The only server that has it. */
  onlyAt?: string;
  urlOf(place: RepositoryPlace, commit: string): string;
  bodyOf(report: StatusReport): object;
  /** Where the status of this context can be read. `body` is the body of the call. */
  lookUpUrl(url: string, body: Body): string;
  /** Whether the look-up's response contains the status; "unknown" if that cannot be determined. */
  isListed(answer: LookUpAnswer, body: Body): boolean | "unknown";
  /** If a second call would add a second status: the address that changes the one in the response; null: unknown. */
  changeUrl?(url: string, answer: LookUpAnswer, body: Body): string | null;
}

interface Words<T> {
  pending: T;
  running?: T;
  success: T;
  failed: T;
  timeout?: T;
  lost?: T;
  canceled: T;
  replaced?: T;
  skipped?: T;
}

/** The host's word for each state. A host without a neutral end state shows a commit that was not built as a success. */
export function statusWords<T>(words: Words<T>): Record<StatusState, T> {
  const { pending, running = pending, success, failed } = words;
  return {
    ...{ queued: pending, dispatched: pending, waiting: pending, running, canceling: running },
    ...{ timeout: failed, lost: failed, replaced: success, skipped: success },
    ...words,
  };
}

/** The four states of GitHub's API, which other hosts adopted. */
export const githubWords = statusWords({
  ...{ pending: "pending", success: "success", failed: "failure", canceled: "error", lost: "error" },
});

/** GitHub's API at another base, which other hosts adopted. `pageSize` is a parameter of the list. */
export function githubStatuses(baseOf: (origin: string) => string, pageSize: string) {
  return {
    urlOf: ({ origin, path }, commit) => `${baseOf(origin)}/repos/${inUrl(path)}/statuses/${commit}`,
    bodyOf: ({ state, description, targetUrl, context }) => ({
      ...{ state: githubWords[state], description, target_url: targetUrl, context },
    }),
    lookUpUrl: (url) => `${url.replace(/\/statuses\/([^/]+)$/, "/commits/$1/status")}?${pageSize}`,
    isListed(answer, { context }) {
      const statuses = at(answer.json, "statuses");
      // Gitea answers null if there are no statuses.
      const listed = statuses === null ? [] : statuses;
      const total = Number(at(answer.json, "total_count") ?? 0);
      return isAmong(answer, listed, { context }, total);
    },
  } satisfies Omit<StatusApi, "proof">;
}

/** Whether a list contains an item with this field. `total`: the number of items at the host. */
export function isAmong(
  { status }: LookUpAnswer,
  listed: unknown,
  wanted: Body,
  total = 0,
): boolean | "unknown" {
  if (status !== 200 || !Array.isArray(listed)) return "unknown";
  const isWanted = (one: unknown) => Object.entries(wanted).every(([name, value]) => at(one, name) === value);
  if (listed.some(isWanted)) return true;
  return total > listed.length ? "unknown" : false;
}

/** Two long names with the same start stay different. */
export function shortened(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const digest = new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 8);
  return `${text.slice(0, maxLength - 9)}-${digest}`;
}
