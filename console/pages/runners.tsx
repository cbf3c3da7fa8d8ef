import {
  Button,
  Checkbox,
  Code,
  Group,
  MultiSelect,
  NumberInput,
  Select,
  TagsInput,
  TextInput,
} from "@mantine/core";
import { useState } from "react";
import { useAct } from "../act.ts";
import { answerOf, api, ifMatch } from "../api.ts";
import { ConfirmButton } from "../components/confirm.tsx";
import { FormButton } from "../components/form-modal.tsx";
import { Icon } from "../components/icon.tsx";
import { List } from "../components/list.tsx";
import { Moment } from "../components/moment.tsx";
import { Empty, PageHead } from "../components/page.tsx";
import { RunnerNotes } from "../components/runner-notes.tsx";
import { ShownOnce } from "../components/shown-once.tsx";
import { Toned } from "../components/state.tsx";
import { groupChoices, useGroups } from "../group-query.ts";
import { useListPage } from "../list-page.ts";
import type { Runner } from "../shapes.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";

/** Heartbeats of runners do not pass through the gateway, so the list is polled. */
const refreshMs = 5000;

export default function Runners() {
  const [token, setToken] = useState<string | null>(null);
  const query = useListPage(["runners"], (page) => answerOf(api.runners.$get({ query: { page } })), {
    refetchInterval: refreshMs,
  });
  return (
    <>
      <PageHead title={t("runners.title")} about={t("runners.about")}>
        <AddRunner onToken={setToken} />
      </PageHead>
      <List
        label={t("runners.title")}
        query={query}
        empty={
          <Empty title={t("runners.empty")}>
            {rich("runners.emptyHint", { setting: <Code>runner.enabled</Code> })}
          </Empty>
        }
        columns={[
          {
            title: t("words.name"),
            cell: (runner) => (
              <>
                <b className="foreign">{visible(runner.name)}</b>
                <div>
                  <Isolation runner={runner} />
                </div>
                <RunnerNotes runner={runner} />
              </>
            ),
          },
          { title: t("runners.state"), cell: (runner) => <Presence runner={runner} /> },
          { title: t("runners.concurrency"), cell: (runner) => runner.concurrency, visibleFrom: "lg" },
          { title: t("runners.labels"), cell: (runner) => <Labels runner={runner} />, visibleFrom: "md" },
          {
            title: t("runners.seen"),
            cell: (runner) => (runner.lastSeenAt ? <Moment at={runner.lastSeenAt} /> : t("words.never")),
            visibleFrom: "lg",
          },
          {
            title: t("runners.version"),
            cell: (runner) => visible(runner.version) || "–",
            visibleFrom: "lg",
          },
          {
            title: t("words.actions"),
            cell: (runner) => <RunnerActions runner={runner} onToken={setToken} />,
          },
        ]}
      />
      <ShownOnce
        title={t("runners.tokenTitle")}
        label={t("runners.theToken")}
        value={token}
        onDone={() => setToken(null)}
      >
        {t("runners.tokenText")}
        <pre className="source">{`slipway runner --server ${location.origin} \\\n  --token-file /etc/slipway/runner.token`}</pre>
      </ShownOnce>
    </>
  );
}

function Labels({ runner: { labels, offeredLabels, alsoUnlabelled, groupIds } }: { runner: Runner }) {
  const names = new Map(useGroups().map((group) => [group.id, group.name]));
  const shown = labels.filter((label) => offeredLabels?.includes(label) ?? true);
  const bound = groupIds.map((id) => names.get(id) ?? t("runners.groupNumber", { id: String(id) }));
  const separator = t("words.listSeparator");
  const own = shown.join(separator) || t("words.none");
  const all = labels.length > 0 && alsoUnlabelled ? t("runners.alsoUnlabelled", { labels: own }) : own;
  const text = bound.length > 0 ? t("runners.onlyFor", { labels: all, groups: bound.join(separator) }) : all;
  return <span className="foreign">{visible(text)}</span>;
}

function Isolation({ runner }: { runner: Runner }) {
  const { isolation, reportedIsolation, containers, lastSeenAt } = runner;
  if (lastSeenAt === null) return <span className="dim small">{t("runners.isolationUnknown")}</span>;
  const how = {
    none: "runners.notIsolated",
    sandbox: "runners.isolatedSandbox",
    container: "runners.isolatedContainer",
  } as const;
  const counted = t(how[isolation]);
  const text =
    isolation === reportedIsolation
      ? counted
      : t("runners.unconfirmed", { isolation: counted, reported: trustText(reportedIsolation) });
  return (
    <Toned tone={isolation === "none" ? "warning" : "success"}>
      {containers && isolation !== "container" ? t("runners.hasContainers", { isolation: text }) : text}
    </Toned>
  );
}

/** In the order of strength. */
const trustLevels: Runner["trustedIsolation"][] = ["none", "sandbox", "container"];

function trustText(level: Runner["trustedIsolation"]): string {
  const texts = {
    none: "runners.trustNone",
    sandbox: "runners.trustSandbox",
    container: "runners.trustContainer",
  } as const;
  return t(texts[level]);
}

type Trust = Pick<Runner, "alsoUnlabelled" | "trustedIsolation">;

function registrationOf({ labels, groupIds, alsoUnlabelled, trustedIsolation, revision }: Runner) {
  return { labels, groupIds, alsoUnlabelled, trustedIsolation, revision };
}

/** What an administrator decides about a runner, because the runner's own word cannot be verified. */
function TrustInputs({ value, set }: { value: Trust; set: (change: Partial<Trust>) => void }) {
  return (
    <>
      <Checkbox
        label={t("runners.allowUnlabelled")}
        description={t("runners.allowUnlabelledHint")}
        checked={value.alsoUnlabelled}
        onChange={(event) => set({ alsoUnlabelled: event.currentTarget.checked })}
      />
      <Select
        label={t("runners.trustedIsolation")}
        description={t("runners.trustedIsolationHint")}
        data={trustLevels.map((level) => ({ value: level, label: trustText(level) }))}
        allowDeselect={false}
        value={value.trustedIsolation}
        onChange={(level) =>
          set({ trustedIsolation: trustLevels.find((known) => known === level) ?? "none" })
        }
      />
    </>
  );
}

function EditRunner({ runner }: { runner: Runner }) {
  const groups = useGroups();
  return (
    <FormButton
      title={t("runners.editTitle", { name: runner.name })}
      submit={t("runners.save")}
      label={t("runners.edit")}
      button={{ size: "compact-sm", variant: "default" }}
      initial={registrationOf(runner)}
      onSubmit={({ revision, ...json }, isOverwriting) => {
        const header = ifMatch(isOverwriting ? null : revision);
        return answerOf(api.runners[":id"].$patch({ param: { id: runner.id }, header, json }));
      }}
      done={t("runners.changed", { name: runner.name })}
      failed={t("runners.changeFailed", { name: runner.name })}
      refresh={["runners"]}
    >
      {({ value, set, errorOf }) => (
        <>
          <LabelsInput
            labels={value.labels}
            onChange={(labels) => set({ labels })}
            error={errorOf("labels")}
          />
          <MultiSelect
            label={t("runners.onlyGroups")}
            description={t("runners.onlyGroupsHint")}
            searchable
            nothingFoundMessage={t("form.nothingFound")}
            data={groupChoices(groups)}
            value={value.groupIds.map(String)}
            onChange={(ids) => set({ groupIds: ids.map(Number) })}
            error={errorOf("groupIds")}
          />
          <TrustInputs value={value} set={set} />
        </>
      )}
    </FormButton>
  );
}

function LabelsInput(props: {
  labels: string[];
  onChange: (labels: string[]) => void;
  error: string | undefined;
}) {
  return (
    <TagsInput
      label={t("runners.labels")}
      description={t("runners.labelsHint")}
      value={props.labels}
      onChange={props.onChange}
      error={props.error}
    />
  );
}

function Presence({ runner }: { runner: Runner }) {
  const tone = runner.disabled ? "waiting" : runner.online ? "success" : "warning";
  return <Toned tone={tone}>{t(`runners.${presenceOf(runner)}`)}</Toned>;
}

function presenceOf({ disabled, online, lastSeenAt }: Runner) {
  if (disabled) return "disabled";
  if (online) return "online";
  return lastSeenAt === null ? "neverConnected" : "away";
}

function RunnerActions({ runner, onToken }: { runner: Runner; onToken: (token: string) => void }) {
  const param = { id: runner.id };
  const { name } = runner;
  const toggle = useAct(
    () => answerOf(api.runners[":id"].$patch({ param, header: {}, json: { disabled: !runner.disabled } })),
    {
      done: t(runner.disabled ? "runners.enabledDone" : "runners.disabledDone", { name }),
      failed: t("runners.changeFailed", { name }),
      refresh: ["runners"],
    },
  );
  return (
    <Group gap={6} className="row-actions">
      <Button
        size="compact-sm"
        variant="default"
        loading={toggle.isPending}
        aria-label={visible(t(runner.disabled ? "runners.enableOne" : "runners.disableOne", { name }))}
        onClick={() => toggle.mutate(undefined)}
      >
        {t(runner.disabled ? "runners.enable" : "runners.disable")}
      </Button>
      <EditRunner runner={runner} />
      {!runner.local && (
        <>
          <ConfirmButton
            label={t("runners.newToken")}
            aria-label={t("runners.newTokenOne", { name })}
            size="compact-sm"
            title={t("runners.newTokenTitle", { name })}
            confirm={t("runners.newTokenConfirm")}
            onConfirm={async () =>
              onToken((await answerOf(api.runners[":id"]["reset-token"].$post({ param }))).token)
            }
            failed={t("runners.newTokenFailed", { name })}
            refresh={["runners"]}
          >
            {t("runners.newTokenText")}
          </ConfirmButton>
          <ConfirmButton
            label={t("words.deleteItem")}
            aria-label={t("runners.deleteOne", { name })}
            size="compact-sm"
            title={t("runners.deleteTitle", { name })}
            confirm={t("runners.deleteConfirm")}
            isDanger
            onConfirm={() => answerOf(api.runners[":id"].$delete({ param }))}
            done={t("runners.deleted", { name })}
            failed={t("runners.deleteFailed", { name })}
            refresh={["runners"]}
          >
            {t("runners.deleteText")}
          </ConfirmButton>
        </>
      )}
    </Group>
  );
}

const newRunner = {
  name: "",
  labels: [] as string[],
  concurrency: 2,
  alsoUnlabelled: false,
  trustedIsolation: "none" as Runner["trustedIsolation"],
};

function AddRunner({ onToken }: { onToken: (token: string) => void }) {
  return (
    <FormButton
      title={t("runners.register")}
      submit={t("runners.registerSubmit")}
      button={{ leftSection: <Icon name="plus" size={16} /> }}
      initial={newRunner}
      onSubmit={async (json) => onToken((await answerOf(api.runners.$post({ json }))).token)}
      failed={t("runners.registerFailed")}
      refresh={["runners"]}
    >
      {({ value, set, text, errorOf }) => (
        <>
          <TextInput label={t("words.name")} required data-autofocus {...text("name")} />
          <LabelsInput
            labels={value.labels}
            onChange={(labels) => set({ labels })}
            error={errorOf("labels")}
          />
          <NumberInput
            label={t("runners.concurrency")}
            description={t("runners.concurrencyHint")}
            min={1}
            max={256}
            value={value.concurrency}
            onChange={(concurrency) => set({ concurrency: Number(concurrency) || 1 })}
            error={errorOf("concurrency")}
          />
          <TrustInputs value={value} set={set} />
        </>
      )}
    </FormButton>
  );
}
