import { Checkbox, Group, NumberInput, Select, TagsInput, Text, TextInput } from "@mantine/core";
import { Panel } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import { SaveBar } from "../../components/save-bar.tsx";
import type { Webhook } from "../../shapes.ts";
import { ruleNames, useWebhookDraft, type WebhookRules } from "../../webhook-query.ts";
import { ActionFields, buildOnly, everyStage } from "./actions.tsx";
import { WhatIf } from "./what-if.tsx";

const eventChoices = [
  { value: "push", label: "pushes to branches" },
  { value: "tag", label: "tags" },
  { value: "merge_request", label: "merge requests" },
] as const;

/** Which deliveries start a deploy, with the answer of the past to every change before it is saved. */
export function RulesPanel({ projectId, webhook }: { projectId: number; webhook: Webhook }) {
  const draft = useWebhookDraft(webhook, rulesOf, "The rules are saved.");
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
    <Panel
      title="What starts a deploy"
      about="A delivery passes these from top to bottom; the first that does not fit ignores it."
    >
      <div className="rules">
        <form className="form" onSubmit={draft.submit}>
          <Checkbox.Group
            label="Events"
            value={value.events}
            onChange={(chosen) =>
              set({
                events: eventChoices.map((event) => event.value).filter((event) => chosen.includes(event)),
              })
            }
          >
            <Group gap="lg" mt={6}>
              {eventChoices.map((event) => (
                <Checkbox key={event.value} value={event.value} label={event.label} />
              ))}
            </Group>
          </Checkbox.Group>
          <Text size="sm" c="dimmed">
            In the three lists below: <code>*</code> within a level, <code>**</code> across levels,{" "}
            <code>?</code> one character. Press Enter after each. Empty: no restriction.
          </Text>
          {globs("branchFilter", "Branches", "main, release/**")}
          {globs("tagFilter", "Tags", "v*")}
          {globs("pathFilter", "Changed files", "src/**, package.json")}
          <TextInput
            label="Skip keyword"
            description="A commit message that contains it is skipped. Empty: [skip ci]."
            {...draft.text("skipCiKeyword")}
          />
          <Checkbox
            label="Also merge requests from forks (their authors can run code here)"
            {...draft.flag("allowForks")}
          />
          <Select
            label="Builds"
            data={[
              { value: "webhook", label: "what was pushed" },
              { value: "project", label: "the project's own branch" },
            ]}
            allowDeselect={false}
            value={value.refSource}
            onChange={(source) => set({ refSource: source === "project" ? "project" : "webhook" })}
          />
          <ActionFields value={value.actions} onChange={(actions) => set({ actions })} />
          <Select
            label="Merge requests run"
            data={[
              { value: "same", label: "the same stages" },
              { value: "own", label: "stages of their own" },
            ]}
            allowDeselect={false}
            value={value.mergeRequestActions === null ? "same" : "own"}
            onChange={(choice) => set({ mergeRequestActions: choice === "own" ? buildOnly : null })}
          />
          {value.mergeRequestActions !== null && (
            <ActionFields
              label="Stages that run for merge requests"
              value={value.mergeRequestActions}
              onChange={(actions) => set({ mergeRequestActions: actions ?? everyStage })}
            />
          )}
          <Select
            label="A delivery about another repository"
            data={[
              { value: "warn", label: "is noted in its trace" },
              { value: "enforce", label: "is ignored" },
            ]}
            allowDeselect={false}
            value={value.repositoryCheck}
            onChange={(check) => set({ repositoryCheck: check === "enforce" ? "enforce" : "warn" })}
          />
          <Select
            label="While another task of the project is unfinished"
            data={[
              { value: "always", label: "wait in the queue" },
              { value: "skip", label: "ignore the delivery" },
            ]}
            allowDeselect={false}
            value={value.queuePolicy}
            onChange={(policy) => set({ queuePolicy: policy === "skip" ? "skip" : "always" })}
          />
          <Group gap="md" align="flex-start" grow>
            <NumberInput
              label="Debounce"
              description="Pushes inside it make one task. 0: off."
              placeholder={`${webhook.effectiveDebounceSeconds} (default)`}
              suffix=" s"
              min={0}
              max={86_400}
              value={value.debounceSeconds ?? ""}
              error={refused?.about("debounceSeconds")}
              onChange={(seconds) => set({ debounceSeconds: seconds === "" ? null : Number(seconds) })}
            />
            <Select
              label="Debounce together"
              description="What shares one such window."
              data={[
                { value: "project", label: "all pushes of the project" },
                { value: "ref", label: "pushes of one branch or tag" },
              ]}
              allowDeselect={false}
              value={value.debounceScope}
              onChange={(scope) => set({ debounceScope: scope === "ref" ? "ref" : "project" })}
            />
          </Group>
          <SaveBar draft={draft} />
        </form>
        <ForManagers>
          <WhatIf projectId={projectId} rules={value} isChanged={draft.isChanged} />
        </ForManagers>
      </div>
    </Panel>
  );
}

function rulesOf(webhook: Webhook): WebhookRules {
  return Object.fromEntries(ruleNames.map((name) => [name, webhook[name]])) as WebhookRules;
}
