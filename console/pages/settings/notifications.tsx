import { Button, Group, MultiSelect, PasswordInput, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { Panel } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import type { Project } from "../../shapes.ts";
import { useUnsaved } from "../../unsaved.ts";
import { RowsForm } from "./rows-form.tsx";

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
  return (
    <Panel title="Notifications" about="Addresses that are told, by a signed POST, what happens to tasks.">
      <RowsForm<Target>
        project={project}
        rowsOf={({ notify }) => notify}
        fresh={{ url: "", events: [] }}
        changeOf={(notify) => ({ notify })}
        faultOf={(_, index, refused) => refused?.about(`notify.${index}.url`)}
        addLabel="Add an address"
        removeLabelOf={() => "Remove the address"}
        isWide
      >
        {(target, change, fault) => (
          <>
            <TextInput
              aria-label="Address"
              placeholder="https://chat.example.com/hooks/deploys"
              required
              style={{ flex: "1 1 260px" }}
              value={target.url}
              error={fault}
              onChange={(event) => change({ ...target, url: event.currentTarget.value })}
            />
            <MultiSelect
              aria-label="Events"
              placeholder={target.events.length === 0 ? "all events" : ""}
              style={{ flex: "1 1 260px" }}
              data={events}
              value={target.events}
              onChange={(chosen) =>
                change({ ...target, events: events.filter((event) => chosen.includes(event)) })
              }
            />
          </>
        )}
      </RowsForm>
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
  useUnsaved(value !== "");
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
      <ForManagers>
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
      </ForManagers>
    </form>
  );
}
