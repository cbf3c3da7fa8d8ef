import type { HeaderValues } from "../../git-host/delivery/headers.ts";
import { gitHostOf, type ProviderName } from "../../git-host/hosts.ts";
import { keptHeaders } from "../../git-host/kept-headers.ts";
import { hostDeliveryIdOf } from "../../git-host/read-event.ts";
import type { NormalizedEvent, RecentWork, TraceResult, TraceStep } from "../../model/delivery.ts";
import type { Project } from "../../model/project.ts";
import type { NewTask, Task } from "../../model/task.ts";
import type { WebhookConfig } from "../../model/webhook-config.ts";
import { mapTexts, type Reason } from "../../reason/reason.ts";
import type { Hook } from "../hook/hooks.ts";
import type { DeliveryKind } from "./delivery-kind.ts";
import type { Outcome } from "./outcome.ts";
import type { QueuePlace } from "./queue-position.ts";

/** A request at the delivery endpoint. */
export interface DeliveryRequest {
  /** The hookKey of the address; empty: not a valid key. */
  key: string;
  headers: HeaderValues;
  query: { get(name: string): string | null };
  remoteIp: string;
  /** The key of limits per address: an IPv6 network, because one sender can use all its addresses. */
  limitKey: string;
  /** Reads the body; called at most once, after the endpoint is found and enabled. */
  readBody(): Promise<Uint8Array | "too_large" | "broken">;
}

/**
 * A delivery on its way from the request to its record; each step of the decision completes it. It is plain data, because
 * the last steps run next to the database.
 */
export interface PendingDelivery {
  kind: DeliveryKind;
  remoteIp: string;
  arrivedAt: Date;
  replayOf: number | null;
  trace: TraceStep[];
  /** The span of the delivery; null: it is not traced. */
  traceparent: string | null;

  /** Step locate: 0 and empty where no project was found. */
  projectId: number;
  projectName: string;
  provider: ProviderName | "";
  formerProjectId: number | null;
  headers: Record<string, string>;
  hostDeliveryId: string | null;

  /** Step parse. The body is masked, truncated and storable. */
  body: string;
  event: NormalizedEvent | null;
  /** Why the body contains no event; "" if it contains one. */
  problem: Reason;

  /** When the push arrived first; null: now. */
  pushedAt: Date | null;
  /** For a poll: the tip of the ref that it compared with. Another delivery may have handled the ref since. */
  comparedTip?: { commit: string | null };
}

/** A webhook configuration with the installation's debounce window where it sets none. */
export type HookConfig = WebhookConfig & { debounceSeconds: number };

/** What a decision depends on, beside the delivery and its webhook. */
export interface ProjectState extends RecentWork {
  /** The project, or the environment of it, that gets the task. */
  project: Project;
}

/** A delivery with the result of the filters. */
export interface FilteredDelivery extends PendingDelivery {
  config: HookConfig;
  /** Why the filters stop it; null: they do not. */
  stoppedBy: Outcome | null;
  /** A sentence that names the refs of the push that were not chosen; "" if there are none. */
  aside: Reason;
  filterTrace: TraceStep[];
  /** The environment that takes the ref; null: none does, or the project has none. */
  environment: string | null;
  /** Whether the tips of refs are stored, for polls. */
  keepsTip: boolean;
}

/** A delivery that passed the filters, with the state of its project while the project's lock is held. */
export interface PassedDelivery extends FilteredDelivery {
  event: NormalizedEvent;
  state: ProjectState;
  now: Date;
}

/** What is to be done about a delivery. Deciding only reads; record.ts carries the decision out. */
export interface Decision {
  outcome: Outcome;
  /** The task to create, and its place; null: it was not counted. */
  start?: { task: NewTask; place: QueuePlace | null };
  /**
   * The queued task that takes over the delivery's request; `order` null: it keeps its own. `isDisplaced`: it keeps
   * another ref than the delivery's.
   */
  merge?: { into: Task; order: BuildOrder | null; isDisplaced: boolean };
}

/** The ref and commit that is built for an event, and who pushed it. */
export type BuildOrder = Pick<
  Task,
  "ref" | "commit" | "message" | "author" | "triggeredBy" | "causeRef" | "causeCommit" | "source"
> &
  Partial<Pick<Task, "actions" | "stages">>;

export function newDelivery(
  kind: DeliveryKind,
  arrivedAt: Date,
  given: Partial<PendingDelivery>,
): PendingDelivery {
  return {
    kind,
    remoteIp: kind.remoteIp ?? "",
    arrivedAt,
    replayOf: null,
    trace: [],
    traceparent: null,
    projectId: 0,
    projectName: "",
    provider: "",
    formerProjectId: null,
    headers: {},
    hostDeliveryId: null,
    body: "",
    event: null,
    problem: "",
    pushedAt: null,
    ...given,
  };
}

/** A delivery with the project of the hook that its address names. */
export function withProject(
  hook: Hook,
  { headers }: DeliveryRequest,
  delivery: PendingDelivery,
): PendingDelivery {
  const host = gitHostOf(hook.config.provider);
  const kept = { headers: keptHeaders(headers, host), hostDeliveryId: hostDeliveryIdOf(host, headers) };
  return { ...delivery, ...projectOf(hook), ...kept };
}

export function projectOf({ config, project }: Hook) {
  return { projectId: project.id, projectName: project.name, provider: config.provider };
}

/** Adds steps of the decision to a list, in order: input, rule and result of each. */
export interface Trace {
  readonly steps: TraceStep[];
  add(step: string, result: TraceResult, value: string, pattern: string, detail: Reason): void;
}

/** Longer values are truncated: the trace is for people. */
const maxTextLength = 300;

export function traceOn(steps: TraceStep[]): Trace {
  return {
    steps,
    add(step, result, value, pattern, detail) {
      steps.push({ step, result, value: cut(value), pattern: cut(pattern), detail: mapTexts(detail, cut) });
    },
  };
}

function cut(text: string): string {
  return text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength)}…`;
}
