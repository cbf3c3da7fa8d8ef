import type { Project, Webhook } from "../../shapes.ts";
import type { WebhookChange } from "../../webhook-query.ts";
import { buildOnly } from "./actions.tsx";

/**
 * What a new webhook starts with, as far as nothing else was chosen: the project's branch, a window for each branch, and
 * merge requests that are built only.
 */
export function safeStart({ git }: Project, webhook: Webhook): WebhookChange {
  const isTag = git.ref.startsWith("refs/tags/");
  return {
    enabled: true,
    ...(webhook.branchFilter.length === 0 && !isTag
      ? { branchFilter: [git.ref.replace(/^refs\/heads\//, "")] }
      : {}),
    ...(webhook.mergeRequestActions === null ? { mergeRequestActions: buildOnly } : {}),
    debounceScope: "ref",
  };
}
