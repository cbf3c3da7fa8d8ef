import type { ScannedDelivery } from "../model/delivery.ts";
import { isBranchOrTag, toFullRef } from "../model/git/git-ref.ts";
import { gitAddressOf } from "../model/git/git-url.ts";
import { runOf } from "../model/pipeline.ts";
import type { Project } from "../model/project.ts";
import type { Actions } from "../model/stage/actions.ts";
import { isSideEffect, isStageAsked, stageNames } from "../model/stage/stage-name.ts";
import type { WebhookConfig } from "../model/webhook-config.ts";
import { newReason, type Reason } from "../reason/reason.ts";
import { otherRepository } from "./decide/repository.ts";

/** Number of recent deliveries that are examined. */
export const lookedAt = 20;

/** Warnings about a webhook, as text for people. */
export function warningsOf(
  config: WebhookConfig,
  project: Project,
  { recent, debounceSeconds, hasBaseUrl }: Circumstances,
): Reason[] {
  return [
    ...secretWarnings(config),
    // The hook of a repository on this machine reaches the server there.
    ...(hasBaseUrl || gitAddressOf(project.git.url) === null ? [] : [newReason("warn_no_base_url")]),
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

function secretWarnings({ enabled, secret }: WebhookConfig): Reason[] {
  return enabled && secret === null ? [newReason("warn_no_secret")] : [];
}

function filterWarnings(config: WebhookConfig): Reason[] {
  const warnings: Reason[] = [];
  if (config.tagFilter.length > 0 && !config.events.includes("tag"))
    warnings.push(newReason("warn_tag_filter"));
  if (
    config.branchFilter.length > 0 &&
    !config.events.includes("push") &&
    !config.events.includes("merge_request")
  )
    warnings.push(newReason("warn_branch_filter"));
  return warnings;
}

function deployWarnings(config: WebhookConfig, project: Project, debounceSeconds: number): Reason[] {
  const { events, branchFilter, actions, mergeRequestActions, refSource, debounceScope } = config;
  const isOfPush = refSource === "webhook" && events.includes("push");
  const warnings: Reason[] = [];
  const branch = branchOf(project);
  if (isOfPush && branchFilter.length === 0 && deploys(project, actions))
    warnings.push(
      branch === null ? newReason("warn_any_branch_unnamed") : newReason("warn_any_branch", { branch }),
    );
  if (events.includes("merge_request") && deploys(project, mergeRequestActions ?? actions))
    warnings.push(newReason("warn_merge_requests"));
  const hasBranches = branchFilter.length !== 1 || /[*?]/.test(branchFilter[0] ?? "");
  if (isOfPush && hasBranches && debounceScope === "project" && debounceSeconds > 0)
    warnings.push(newReason("warn_debounce", { seconds: debounceSeconds }));
  return warnings;
}

/** What the last deliveries show about the settings at the host. */
function deliveryWarnings(
  config: WebhookConfig,
  project: Project,
  recent: readonly ScannedDelivery[],
): Reason[] {
  const events = recent.flatMap(({ normalized }) => (normalized === null ? [] : [normalized]));
  const names = new Set(events.map(({ rawEvent }) => rawEvent.toLowerCase()));
  const warnings: Reason[] = [];
  if (names.has("create") && names.has("push")) warnings.push(newReason("warn_twice"));
  const other = events.map((event) => otherRepository(event, project)).find((found) => found !== null);
  if (other)
    warnings.push(
      newReason(
        config.repositoryCheck === "warn" ? "warn_other_repository_enforce" : "warn_other_repository",
        { other, repository: project.git.url },
      ),
    );
  return warnings;
}

function deploys({ pipeline }: Project, actions: Actions | null): boolean {
  return stageNames.some(
    (name) => isSideEffect(name) && runOf(pipeline, name).length > 0 && isStageAsked(actions, name),
  );
}

function branchOf({ git }: Project): string | null {
  const ref = toFullRef(git.ref);
  return isBranchOrTag(ref) && !ref.startsWith("refs/tags/") ? ref.slice("refs/heads/".length) : null;
}
