import { queryOptions } from "@tanstack/react-query";
import type { InferRequestType } from "hono/client";
import { useAct } from "./act.ts";
import { answerOf, api, ifMatch, queryClient } from "./api.ts";
import { useDraft } from "./draft.ts";
import type { Webhook } from "./shapes.ts";
import { t } from "./text/text.ts";

export function webhookQuery(projectId: number) {
  return queryOptions({
    queryKey: ["webhook", projectId],
    queryFn: () => answerOf(api.projects[":id"].webhook.$get({ param: { id: projectId } })),
  });
}

export type WebhookChange = InferRequestType<(typeof api.projects)[":id"]["webhook"]["$put"]>["json"];

/** Saves only if the revision is current; null: unconditionally. */
async function saveWebhook(
  projectId: number,
  json: WebhookChange,
  revision: string | null,
): Promise<Webhook> {
  const saved = await answerOf(
    api.projects[":id"].webhook.$put({
      param: { id: projectId },
      header: ifMatch(revision),
      json,
    }),
  );
  queryClient.setQueryData(webhookQuery(projectId).queryKey, saved);
  return saved;
}

const touched = ["webhook"];

/** `done` null: the page itself shows the change. */
export function useSaveWebhook(projectId: number, done: string | null = t("form.saved")) {
  return useAct(
    ({ json, revision = null }: { json: WebhookChange; revision?: string | null }) =>
      saveWebhook(projectId, json, revision),
    { ...(done === null ? {} : { done }), refresh: touched },
  );
}

/** A form over some fields of a webhook. */
export function useWebhookDraft<T extends WebhookChange>(
  webhook: Webhook,
  select: (webhook: Webhook) => T,
  done = t("form.saved"),
) {
  const { projectId } = webhook;
  return useDraft({
    source: webhook,
    select,
    reread: () => queryClient.fetchQuery({ ...webhookQuery(projectId), staleTime: 0 }),
    save: (changes: Partial<T>, revision) => saveWebhook(projectId, changes, revision),
    done,
    refresh: touched,
  });
}

/** Which deliveries start a deploy. */
const ruleNames = [
  "events",
  "branchFilter",
  "tagFilter",
  "pathFilter",
  "skipCiKeyword",
  "moreSkipKeywords",
  "refSource",
  "queuePolicy",
  "debounceSeconds",
  "debounceScope",
  "allowForks",
  "actions",
  "mergeRequestActions",
  "repositoryCheck",
] as const;
export type WebhookRules = Pick<Webhook, (typeof ruleNames)[number]>;

/** The rules as they are on the screen. */
export function useRulesDraft(webhook: Webhook) {
  return useWebhookDraft(webhook, rulesOf, t("webhook.rulesSaved"));
}
export type RulesDraft = ReturnType<typeof useRulesDraft>;

function rulesOf(webhook: Webhook): WebhookRules {
  return Object.fromEntries(ruleNames.map((name) => [name, webhook[name]])) as WebhookRules;
}
