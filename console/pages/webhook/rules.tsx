import { Checkbox, Group, NumberInput, Select, TagsInput, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { KeptTicks } from "../../components/kept-ticks.tsx";
import { Panel } from "../../components/page.tsx";
import { FormFoot } from "../../components/save-bar.tsx";
import type { Webhook } from "../../shapes.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import type { RulesDraft, WebhookRules } from "../../webhook-query.ts";
import { ActionFields, buildOnly, everyStage } from "./actions.tsx";
import { eventChoices } from "./event-choices.ts";
import { hasUnusualRules } from "./unusual-rules.ts";

/** What people write who are used to other services. */
const usualSkipKeywords = ["[ci skip]", "[no ci]", "[skip actions]", "[actions skip]", "***NO_CI***"];

/** Which deliveries start a deploy. */
export function RulesPanel({ webhook, draft }: { webhook: Webhook; draft: RulesDraft }) {
  const { value, set, refused } = draft;
  const globs = (name: "branchFilter" | "tagFilter" | "pathFilter", label: string, placeholder: string) => (
    <TagsInput
      label={label}
      placeholder={value[name].length === 0 ? placeholder : ""}
      value={value[name]}
      error={refused?.fields.find((fault) => fault.field.startsWith(name))?.message}
      onChange={(globs) => set({ [name]: globs })}
    />
  );
  return (
    <Panel id="rules" title={t("webhook.rules")} about={t("webhook.rulesAbout")}>
      <form className="form" onSubmit={draft.submit}>
        <KeptTicks
          label={t("webhook.events")}
          choices={eventChoices()}
          value={value.events}
          onChange={(events) => set({ events })}
          why={t("webhook.eventsKept")}
        />
        <Text size="sm" c="dimmed">
          {rich("webhook.globs", { star: <code>*</code>, stars: <code>**</code>, mark: <code>?</code> })}
        </Text>
        {globs("branchFilter", t("webhook.branches"), "main, release/**")}
        {globs("tagFilter", t("webhook.tags"), "v*")}
        {globs("pathFilter", t("webhook.paths"), "src/**, package.json")}
        <TextInput
          label={t("webhook.skipKeyword")}
          description={t("webhook.skipKeywordHint")}
          {...draft.text("skipCiKeyword")}
        />
        <Select
          label={t("webhook.refSource")}
          data={[
            { value: "webhook", label: t("webhook.refSourceWebhook") },
            { value: "project", label: t("webhook.refSourceProject") },
          ]}
          allowDeselect={false}
          value={value.refSource}
          onChange={(source) => set({ refSource: source === "project" ? "project" : "webhook" })}
        />
        <ActionFields value={value.actions} onChange={(actions) => set({ actions })} />
        {value.events.includes("merge_request") && <MergeRequestFields draft={draft} />}
        <Advanced webhook={webhook} draft={draft} />
        <FormFoot draft={draft} failure={t("webhook.rulesNotSaved")} labels={labelsOf()} />
      </form>
    </Panel>
  );
}

/** What most projects leave as it is. It is open where a project does not. */
function Advanced({ webhook, draft: { value, set, refused } }: { webhook: Webhook; draft: RulesDraft }) {
  const [isUnusual] = useState(hasUnusualRules(webhook));
  const isRefused = refused?.fields.some(({ field }) => /^(moreSkipKeywords|debounce)/.test(field));
  return (
    <details className="by-hand" open={isUnusual || isRefused}>
      <summary>{t("webhook.advanced")}</summary>
      <div className="form">
        <TagsInput
          label={t("webhook.moreSkipKeywords")}
          description={t("webhook.moreSkipKeywordsHint")}
          data={usualSkipKeywords}
          value={value.moreSkipKeywords}
          error={refused?.fields.find((fault) => fault.field.startsWith("moreSkipKeywords"))?.message}
          onChange={(moreSkipKeywords) => set({ moreSkipKeywords })}
        />
        <Select
          label={t("webhook.otherRepository")}
          data={[
            { value: "warn", label: t("webhook.otherRepositoryWarn") },
            { value: "enforce", label: t("webhook.otherRepositoryEnforce") },
          ]}
          allowDeselect={false}
          value={value.repositoryCheck}
          onChange={(check) => set({ repositoryCheck: check === "enforce" ? "enforce" : "warn" })}
        />
        <Select
          label={t("webhook.queue")}
          data={[
            { value: "always", label: t("webhook.queueAlways") },
            { value: "skip", label: t("webhook.queueSkip") },
          ]}
          allowDeselect={false}
          value={value.queuePolicy}
          onChange={(policy) => set({ queuePolicy: policy === "skip" ? "skip" : "always" })}
        />
        <Group gap="md" align="end" grow>
          <NumberInput
            label={t("webhook.debounce")}
            description={t("webhook.debounceHint")}
            placeholder={t("webhook.debounceDefault", { seconds: webhook.effectiveDebounceSeconds })}
            suffix={t("words.secondsSuffix")}
            min={0}
            max={86_400}
            value={value.debounceSeconds ?? ""}
            error={refused?.about("debounceSeconds")}
            onChange={(seconds) => set({ debounceSeconds: seconds === "" ? null : Number(seconds) })}
          />
          <Select
            label={t("webhook.debounceScope")}
            description={t("webhook.debounceScopeHint")}
            data={[
              { value: "project", label: t("webhook.debounceScopeProject") },
              { value: "ref", label: t("webhook.debounceScopeRef") },
            ]}
            allowDeselect={false}
            value={value.debounceScope}
            onChange={(scope) => set({ debounceScope: scope === "ref" ? "ref" : "project" })}
          />
        </Group>
      </div>
    </details>
  );
}

/** Rules for merge requests only. */
function MergeRequestFields({ draft: { value, set, flag } }: { draft: RulesDraft }) {
  return (
    <>
      <Select
        label={t("webhook.mergeRequests")}
        data={[
          { value: "same", label: t("webhook.mergeRequestsSame") },
          { value: "own", label: t("webhook.mergeRequestsOwn") },
        ]}
        allowDeselect={false}
        value={value.mergeRequestActions === null ? "same" : "own"}
        onChange={(choice) => set({ mergeRequestActions: choice === "own" ? buildOnly : null })}
      />
      {value.mergeRequestActions !== null && (
        <ActionFields
          label={t("webhook.mergeRequestActions")}
          value={value.mergeRequestActions}
          onChange={(actions) => set({ mergeRequestActions: actions ?? everyStage })}
        />
      )}
      <Checkbox label={t("webhook.allowForks")} {...flag("allowForks")} />
    </>
  );
}

/** Names of the fields, for conflicts. */
function labelsOf(): Record<keyof WebhookRules, string> {
  return {
    events: t("webhook.events"),
    branchFilter: t("webhook.branches"),
    tagFilter: t("webhook.tags"),
    pathFilter: t("webhook.paths"),
    skipCiKeyword: t("webhook.skipKeyword"),
    moreSkipKeywords: t("webhook.moreSkipKeywords"),
    refSource: t("webhook.refSource"),
    queuePolicy: t("webhook.queue"),
    debounceSeconds: t("webhook.debounce"),
    debounceScope: t("webhook.debounceScope"),
    allowForks: t("webhook.allowForks"),
    actions: t("webhook.actions"),
    mergeRequestActions: t("webhook.mergeRequestActions"),
    repositoryCheck: t("webhook.otherRepository"),
  };
}
