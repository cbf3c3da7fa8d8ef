import type { ScannedDelivery } from "../model/delivery.ts";
import { isBranchOrTag, toFullRef } from "../model/git/git-ref.ts";
import type { Project } from "../model/project.ts";
import {
  type Actions,
  type EventName,
  type WebhookConfig,
  webhookDefaults,
} from "../model/webhook-config.ts";
import { isStageAsked } from "../task/queue/queue.ts";
import { otherRepository } from "./decide/repository-check.ts";

/** Number of recent deliveries that are examined. */
export const lookedAt = 20;

/** Warnings about a webhook, as text for people. */
export function warningsOf(
  config: WebhookConfig,
  project: Project,
  { recent, debounceSeconds, hasBaseUrl }: Circumstances,
): string[] {
  return [
    ...secretWarnings(config),
    ...(hasBaseUrl
      ? []
      : ["server.baseUrl is not set: the address is inferred and reachable from this machine only."]),
    ...filterWarnings(config),
    ...(config.enabled ? deployWarnings(config, project, debounceSeconds) : []),
    ...(config.enabled ? deliveryWarnings(config, project, recent) : []),
  ];
}

interface Circumstances {
  /** The last deliveries of the project. */
  recent: readonly ScannedDelivery[];
  /** The window that applies to the project. */
  debounceSeconds: number;
  hasBaseUrl: boolean;
}

function secretWarnings({ enabled, secret }: WebhookConfig): string[] {
  return enabled && secret === null
    ? ["The webhook is enabled without a secret: anyone who knows the address can start builds."]
    : [];
}

function filterWarnings(config: WebhookConfig): string[] {
  const warnings: string[] = [];
  if (config.tagFilter.length > 0 && !listens(config, "tag"))
    warnings.push("A tag filter is set, but the event tag is not among the allowed events.");
  if (config.branchFilter.length > 0 && !listens(config, "push") && !listens(config, "merge_request"))
    warnings.push("A branch filter is set, but neither push nor merge_request is among the allowed events.");
  return warnings;
}

function deployWarnings(config: WebhookConfig, project: Project, debounceSeconds: number): string[] {
  const { branchFilter, actions, mergeRequestActions, refSource, debounceScope } = config;
  const isOfPush = refSource === "webhook" && listens(config, "push");
  const warnings: string[] = [];
  if (isOfPush && branchFilter.length === 0 && deploys(project, actions))
    warnings.push(
      `The branch filter is empty: a push of any branch is deployed. Set it to ${branchOf(project) ?? "the branch that you deploy"}, or turn deploy and start off.`,
    );
  if (listens(config, "merge_request") && deploys(project, mergeRequestActions ?? actions))
    warnings.push(
      "Every merge request is deployed as soon as it is opened. Set mergeRequestActions to build only, unless each is meant to be deployed.",
    );
  const hasBranches = branchFilter.length !== 1 || /[*?]/.test(branchFilter[0] ?? "");
  if (isOfPush && hasBranches && debounceScope === "project" && debounceSeconds > 0)
    warnings.push(
      `The debounce window covers the whole project: of branches that are pushed within ${debounceSeconds} s only the last one is built. Set debounceScope to ref.`,
    );
  return warnings;
}

/** What the last deliveries show about the settings at the host. */
function deliveryWarnings(
  config: WebhookConfig,
  project: Project,
  recent: readonly ScannedDelivery[],
): string[] {
  const events = recent.flatMap(({ normalized }) => (normalized === null ? [] : [normalized]));
  const names = new Set(events.map(({ rawEvent }) => rawEvent.toLowerCase()));
  const warnings: string[] = [];
  if (names.has("create") && names.has("push"))
    warnings.push(
      "The Git host sends both push and create: a new branch or tag is announced twice and built once. Turn create off at the host.",
    );
  const other = events.map((event) => otherRepository(event, project)).find((found) => found !== null);
  if (other)
    warnings.push(
      `A recent delivery is about ${other}, not the project's repository ${project.git.url}.${config.repositoryCheck === "warn" ? " Set repositoryCheck to enforce to ignore such deliveries." : ""}`,
    );
  return warnings;
}

function listens({ events }: WebhookConfig, event: EventName): boolean {
  const allowed: readonly EventName[] = events.length === 0 ? webhookDefaults.events : events;
  return allowed.includes(event);
}

function deploys({ stages }: Project, actions: Actions | null): boolean {
  return (["deploy", "start"] as const).some(
    (name) => stages[name].script.trim() !== "" && isStageAsked(actions, name),
  );
}

function branchOf({ git }: Project): string | null {
  const ref = toFullRef(git.ref);
  return isBranchOrTag(ref) && !ref.startsWith("refs/tags/") ? ref.slice("refs/heads/".length) : null;
}
