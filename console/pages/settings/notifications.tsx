import { ActionIcon, Button, Group, MultiSelect, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { Icon } from "../../components/icon.tsx";
import { Panel } from "../../components/page.tsx";
import { SaveBar } from "../../components/save-bar.tsx";
import { useDraft } from "../../draft.ts";
import { useSaveProject } from "../../project-query.ts";
import type { Project } from "../../shapes.ts";

type Target = Project["notify"][number];

const events: Target["events"] = [
  "task.queued",
  "task.started",
  "task.succeeded",
  "task.failed",
  "task.canceled",
  "task.timeout",
  "task.lost",
];

/** Outgoing webhooks: who is told of what. */
export function NotificationSettings({ project }: { project: Project }) {
  const stored = project.notify.map((target, key) => ({ ...target, key }));
  const draft = useDraft({ targets: stored });
  const save = useSaveProject(project.id);
  const { targets } = draft.value;
  const change = (key: number, more: Partial<Target>) =>
    draft.set({ targets: targets.map((target) => (target.key === key ? { ...target, ...more } : target)) });
  const add = () =>
    draft.set({
      targets: [
        ...targets,
        { url: "", events: [], key: Math.max(-1, ...targets.map((each) => each.key)) + 1 },
      ],
    });
  const submit = draft.submit((value) =>
    save.mutateAsync({ notify: value.targets.map(({ url, events }) => ({ url, events })) }),
  );
  return (
    <Panel title="Notifications" about="Addresses that are told, by a signed POST, what happens to tasks.">
      <form className="form" style={{ maxWidth: 820 }} onSubmit={submit}>
        <Stack gap={8}>
          {targets.map((target) => (
            <Group key={target.key} gap={8} align="flex-start">
              <TextInput
                aria-label="Address"
                placeholder="https://chat.example.com/hooks/deploys"
                required
                style={{ flex: "1 1 260px" }}
                value={target.url}
                onChange={(event) => change(target.key, { url: event.currentTarget.value })}
              />
              <MultiSelect
                aria-label="Events"
                placeholder={target.events.length === 0 ? "all events" : ""}
                style={{ flex: "1 1 260px" }}
                data={events}
                value={target.events}
                onChange={(chosen) =>
                  change(target.key, { events: events.filter((event) => chosen.includes(event)) })
                }
              />
              <ActionIcon
                mt={4}
                variant="subtle"
                color="gray"
                aria-label="Remove the address"
                onClick={() => draft.set({ targets: targets.filter((other) => other.key !== target.key) })}
              >
                <Icon name="bin" size={16} />
              </ActionIcon>
            </Group>
          ))}
          <div>
            <Button
              variant="default"
              size="compact-sm"
              leftSection={<Icon name="plus" size={14} />}
              onClick={add}
            >
              Add an address
            </Button>
          </div>
        </Stack>
        <SaveBar isChanged={draft.isChanged} save={save} onReset={draft.reset} />
      </form>
      <Keys projectId={project.id} />
    </Panel>
  );
}

const keyKinds = [
  {
    kind: "notify-key",
    field: "notifyKeySet",
    label: "Signing key",
    set: "A signing key is set: receivers can check that a notification is ours.",
    unset: "No signing key is set: receivers cannot check that a notification is ours.",
  },
  {
    kind: "status-token",
    field: "statusTokenSet",
    label: "Commit status token",
    set: "A token is set: the outcome of a task is reported to the commit at the Git host.",
    unset: "No token is set: the Git host is not told how a commit fared.",
  },
] as const;

type KeyKind = (typeof keyKinds)[number];

function Keys({ projectId }: { projectId: number }) {
  const keys = useQuery({
    queryKey: ["project", projectId, "keys"],
    queryFn: () => answerOf(api.projects[":id"].keys.$get({ param: { id: projectId } })),
  });
  return keyKinds.map((kind) => (
    <KeyForm key={kind.kind} projectId={projectId} kind={kind} isSet={keys.data?.[kind.field] ?? false} />
  ));
}

function KeyForm({ projectId, kind, isSet }: { projectId: number; kind: KeyKind; isSet: boolean }) {
  const [value, setValue] = useState("");
  const param = { id: projectId, kind: kind.kind };
  const set = useAct(() => answerOf(api.projects[":id"].keys[":kind"].$put({ param, json: { value } })), {
    done: `The ${kind.label.toLowerCase()} is stored.`,
    refresh: ["project"],
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    set.mutate(undefined, { onSuccess: () => setValue("") });
  };
  return (
    <form onSubmit={submit}>
      <Text size="sm" mt="lg">
        {isSet ? kind.set : kind.unset}
      </Text>
      <Group align="flex-end" gap="sm" mt={6}>
        <PasswordInput
          label={kind.label}
          required
          w={260}
          autoComplete="off"
          value={value}
          onChange={(event) => setValue(event.currentTarget.value)}
        />
        <Button type="submit" variant="default" loading={set.isPending}>
          {isSet ? "Replace it" : "Store it"}
        </Button>
      </Group>
    </form>
  );
}
