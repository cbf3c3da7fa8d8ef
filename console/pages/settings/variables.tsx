import { ActionIcon, Button, Group, PasswordInput, Stack, Table, Text, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { Icon } from "../../components/icon.tsx";
import { Panel } from "../../components/page.tsx";
import { SaveBar } from "../../components/save-bar.tsx";
import { useDraft } from "../../draft.ts";
import { useSaveProject } from "../../project-query.ts";
import type { Project } from "../../shapes.ts";

interface Row {
  key: number;
  name: string;
  value: string;
}

/** Plain variables of the scripts, saved as a whole. */
export function EnvironmentSettings({ project }: { project: Project }) {
  const stored: Row[] = Object.entries(project.env).map(([name, value], key) => ({ key, name, value }));
  const draft = useDraft({ rows: stored });
  const save = useSaveProject(project.id);
  const { rows } = draft.value;
  const change = (row: Row) =>
    draft.set({ rows: rows.map((other) => (other.key === row.key ? row : other)) });
  const add = () =>
    draft.set({
      rows: [...rows, { key: Math.max(-1, ...rows.map((row) => row.key)) + 1, name: "", value: "" }],
    });
  const submit = draft.submit((value) =>
    save.mutateAsync({
      env: Object.fromEntries(
        value.rows.filter((row) => row.name !== "").map((row) => [row.name, row.value]),
      ),
    }),
  );
  return (
    <Panel title="Environment" about="Variables that every script gets. What must stay secret belongs below.">
      <form className="form" onSubmit={submit}>
        <Stack gap={8}>
          {rows.map((row) => (
            <Group key={row.key} gap={8} wrap="nowrap">
              <TextInput
                aria-label="Name"
                placeholder="NODE_ENV"
                className="script"
                value={row.name}
                onChange={(event) => change({ ...row, name: event.currentTarget.value })}
              />
              <TextInput
                aria-label={`Value of ${row.name || "the variable"}`}
                style={{ flex: 1 }}
                value={row.value}
                onChange={(event) => change({ ...row, value: event.currentTarget.value })}
              />
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={`Remove ${row.name || "the variable"}`}
                onClick={() => draft.set({ rows: rows.filter((other) => other.key !== row.key) })}
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
              Add a variable
            </Button>
          </div>
        </Stack>
        <SaveBar isChanged={draft.isChanged} save={save} onReset={draft.reset} />
      </form>
    </Panel>
  );
}

/** Secrets are written, never read: a list of names, each to replace or delete. */
export function SecretSettings({ project }: { project: Project }) {
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const set = useAct(
    () =>
      answerOf(
        api.projects[":id"].secrets[":name"].$put({ param: { id: project.id, name }, json: { value } }),
      ),
    { done: `${name} is stored.`, refresh: ["project"] },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    set.mutate(undefined, {
      onSuccess: () => {
        setName("");
        setValue("");
      },
    });
  };
  return (
    <Panel
      title="Secrets"
      about="Variables whose values are stored encrypted, never shown again, and masked in logs."
    >
      {project.secretNames.length === 0 ? (
        <Text size="sm" c="dimmed">
          None yet.
        </Text>
      ) : (
        <Table aria-label="Secrets" maw={640}>
          <Table.Tbody>
            {project.secretNames.map((secret) => (
              <SecretRow key={secret} projectId={project.id} name={secret} />
            ))}
          </Table.Tbody>
        </Table>
      )}
      <form onSubmit={submit}>
        <Group align="flex-end" mt="md" gap="sm">
          <TextInput
            label="Name"
            placeholder="DEPLOY_TOKEN"
            required
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <PasswordInput
            label="Value"
            required
            w={220}
            autoComplete="off"
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
          />
          <Button type="submit" loading={set.isPending}>
            {project.secretNames.includes(name) ? "Replace the secret" : "Store the secret"}
          </Button>
        </Group>
      </form>
    </Panel>
  );
}

function SecretRow({ projectId, name }: { projectId: number; name: string }) {
  const remove = useAct(
    () => answerOf(api.projects[":id"].secrets[":name"].$delete({ param: { id: projectId, name } })),
    { done: `${name} was deleted.`, refresh: ["project"] },
  );
  return (
    <Table.Tr>
      <Table.Td>
        <code>{name}</code>
      </Table.Td>
      <Table.Td ta="right">
        <ConfirmButton
          label="Delete"
          aria-label={`Delete ${name}`}
          size="compact-sm"
          title={`Delete the secret ${name}?`}
          confirm="Delete the secret"
          isDanger
          onConfirm={() => remove.mutateAsync(undefined)}
        >
          Scripts that use it get nothing from the next task on.
        </ConfirmButton>
      </Table.Td>
    </Table.Tr>
  );
}
