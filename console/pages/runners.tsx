import { Button, Code, Group, MultiSelect, NumberInput, TagsInput, TextInput } from "@mantine/core";
import { useState } from "react";
import { useAct } from "../act.ts";
import { answerOf, api, ifMatch } from "../api.ts";
import { ConfirmButton } from "../components/confirm.tsx";
import { FormButton } from "../components/form-modal.tsx";
import { Icon } from "../components/icon.tsx";
import { List } from "../components/list.tsx";
import { Moment } from "../components/moment.tsx";
import { Empty, PageHead } from "../components/page.tsx";
import { ShownOnce } from "../components/shown-once.tsx";
import { groupChoices, useGroups } from "../group-query.ts";
import { useListPage } from "../list-page.ts";
import type { Runner } from "../shapes.ts";
import { visible } from "../visible.ts";

/** Whether a runner is there is known by its beats, which do not pass through the gateway. */
const refreshMs = 5000;

export default function Runners() {
  const [token, setToken] = useState<string | null>(null);
  const query = useListPage(["runners"], (page) => answerOf(api.runners.$get({ query: { page } })), {
    refetchInterval: refreshMs,
  });
  return (
    <>
      <PageHead
        title="Runners"
        about="Where the scripts of your projects run. The local one belongs to this server."
      >
        <AddRunner onToken={setToken} />
      </PageHead>
      <List
        label="Runners"
        query={query}
        empty={
          <Empty title="No runner: nothing can be deployed">
            Turn on <Code>runner.enabled</Code>, or register a runner on another machine.
          </Empty>
        }
        columns={[
          {
            title: "Name",
            cell: (runner) => (
              <>
                <b className="foreign">{visible(runner.name)}</b>
                <Isolation runner={runner} />
              </>
            ),
          },
          { title: "State", cell: (runner) => <Presence runner={runner} /> },
          { title: "Side by side", cell: (runner) => runner.concurrency, visibleFrom: "lg" },
          { title: "Labels", cell: (runner) => <Labels runner={runner} />, visibleFrom: "md" },
          {
            title: "Seen",
            cell: (runner) => (runner.lastSeenAt ? <Moment at={runner.lastSeenAt} /> : "never"),
            visibleFrom: "lg",
          },
          { title: "Version", cell: (runner) => visible(runner.version) || "unknown", visibleFrom: "lg" },
          { title: "Actions", cell: (runner) => <RunnerActions runner={runner} onToken={setToken} /> },
        ]}
      />
      <ShownOnce title="The runner's token" label="the token" value={token} onDone={() => setToken(null)}>
        It is shown only once. Save it to a file on the other machine, then run:
        <pre className="source">{`slipway runner --server ${location.origin} \\\n  --token-file /etc/slipway/runner.token`}</pre>
      </ShownOnce>
    </>
  );
}

function Labels({ runner: { labels, offeredLabels, alsoUnlabelled, groupIds } }: { runner: Runner }) {
  const names = new Map(useGroups().map((group) => [group.id, group.name]));
  const shown = labels.filter((label) => offeredLabels?.includes(label) ?? true);
  const bound = groupIds.map((id) => names.get(id) ?? `group ${id}`);
  return (
    <span className="foreign">
      {visible(shown.join(", ")) || "none"}
      {labels.length > 0 && alsoUnlabelled && ", and projects without labels"}
      {bound.length > 0 && `; only for ${visible(bound.join(", "))}`}
    </span>
  );
}

/** A runner of an earlier version may report `isolated` alone. */
function Isolation({ runner: { isolated, isolation, containers } }: { runner: Runner }) {
  const how = { none: "isolated", user: "isolated: another user", container: "isolated: containers" }[
    isolation
  ];
  return (
    <span className="state" data-tone={isolated ? "success" : "warning"}>
      <span className="state-dot" aria-hidden="true" />
      {isolated ? how : "not isolated"}
      {containers && isolation !== "container" && ", has containers"}
    </span>
  );
}

function EditRunner({ runner }: { runner: Runner }) {
  const groups = useGroups();
  const save = useAct(
    ({ revision, ...json }: Pick<Runner, "labels" | "groupIds"> & { revision: string | null }) =>
      answerOf(api.runners[":id"].$patch({ param: { id: runner.id }, header: ifMatch(revision), json })),
    { done: `${runner.name} was changed.`, refresh: ["runners"] },
  );
  return (
    <FormButton
      title={`Labels and groups of ${runner.name}`}
      submit="Save the runner"
      label="Edit"
      button={{ size: "compact-sm", variant: "default" }}
      initial={{ labels: runner.labels, groupIds: runner.groupIds, revision: runner.revision }}
      onSubmit={(value, isOverwriting) =>
        save.mutateAsync({ ...value, revision: isOverwriting ? null : value.revision })
      }
    >
      {({ value, set, errorOf }) => (
        <>
          <LabelsInput
            labels={value.labels}
            onChange={(labels) => set({ labels })}
            error={errorOf("labels")}
          />
          <MultiSelect
            label="Only for these groups"
            description="Empty: it runs projects of every group."
            data={groupChoices(groups)}
            value={value.groupIds.map(String)}
            onChange={(ids) => set({ groupIds: ids.map(Number) })}
            error={errorOf("groupIds")}
          />
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
      label="Labels"
      description="A runner with labels runs only projects with labels, and must have all of these. Press Enter after each."
      value={props.labels}
      onChange={props.onChange}
      error={props.error}
    />
  );
}

function Presence({ runner }: { runner: Runner }) {
  const tone = runner.disabled ? "waiting" : runner.online ? "success" : "warning";
  return (
    <span className="state" data-tone={tone}>
      <span className="state-dot" aria-hidden="true" />
      {runner.disabled ? "disabled" : runner.online ? "online" : "away"}
    </span>
  );
}

function RunnerActions({ runner, onToken }: { runner: Runner; onToken: (token: string) => void }) {
  const param = { id: runner.id };
  const toggle = useAct(
    () => answerOf(api.runners[":id"].$patch({ param, header: {}, json: { disabled: !runner.disabled } })),
    {
      done: runner.disabled ? `${runner.name} takes tasks again.` : `${runner.name} takes no more tasks.`,
      refresh: ["runners"],
    },
  );
  const reset = useAct(() => answerOf(api.runners[":id"]["reset-token"].$post({ param })), {
    refresh: ["runners"],
  });
  const remove = useAct(() => answerOf(api.runners[":id"].$delete({ param })), {
    done: `${runner.name} was deleted.`,
    refresh: ["runners"],
  });
  return (
    <Group gap={6} className="row-actions">
      <Button
        size="compact-sm"
        variant="default"
        loading={toggle.isPending}
        aria-label={`${runner.disabled ? "Enable" : "Disable"} ${visible(runner.name)}`}
        onClick={() => toggle.mutate(undefined)}
      >
        {runner.disabled ? "Enable" : "Disable"}
      </Button>
      <EditRunner runner={runner} />
      {!runner.local && (
        <>
          <ConfirmButton
            label="New token"
            aria-label={`New token for ${runner.name}`}
            size="compact-sm"
            title={`Give ${runner.name} a new token?`}
            confirm="Make a new token"
            onConfirm={async () => onToken((await reset.mutateAsync(undefined)).token)}
          >
            The old one is invalid at once; the runner must be given the new one.
          </ConfirmButton>
          <ConfirmButton
            label="Delete"
            aria-label={`Delete ${runner.name}`}
            size="compact-sm"
            title={`Delete ${runner.name}?`}
            confirm="Delete the runner"
            isDanger
            onConfirm={() => remove.mutateAsync(undefined)}
          >
            What it runs now is reported lost when its lease ends.
          </ConfirmButton>
        </>
      )}
    </Group>
  );
}

const newRunner = { name: "", labels: [] as string[], concurrency: 2 };

function AddRunner({ onToken }: { onToken: (token: string) => void }) {
  const add = useAct((json: typeof newRunner) => answerOf(api.runners.$post({ json })), {
    refresh: ["runners"],
  });
  return (
    <FormButton
      title="Register a runner"
      submit="Register the runner"
      button={{ leftSection: <Icon name="plus" size={16} /> }}
      initial={newRunner}
      onSubmit={async (runner) => onToken((await add.mutateAsync(runner)).token)}
    >
      {({ value, set, text, errorOf }) => (
        <>
          <TextInput label="Name" required data-autofocus {...text("name")} />
          <LabelsInput
            labels={value.labels}
            onChange={(labels) => set({ labels })}
            error={errorOf("labels")}
          />
          <NumberInput
            label="Tasks side by side"
            min={1}
            max={256}
            value={value.concurrency}
            onChange={(concurrency) => set({ concurrency: Number(concurrency) || 1 })}
            error={errorOf("concurrency")}
          />
        </>
      )}
    </FormButton>
  );
}
