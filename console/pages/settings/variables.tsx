import { Button, Group, PasswordInput, Table, Text, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { Panel } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import type { Project } from "../../shapes.ts";
import { visible } from "../../visible.ts";
import { RowsForm } from "./rows-form.tsx";

/** Plain variables of the scripts, saved as a whole. */
export function EnvironmentSettings({ project }: { project: Project }) {
  return (
    <Panel title="Environment" about="Variables that every script gets. What must stay secret belongs below.">
      <RowsForm
        projectId={project.id}
        stored={Object.entries(project.env).map(([name, value]) => ({ name, value }))}
        fresh={{ name: "", value: "" }}
        changeOf={(rows) => ({
          env: Object.fromEntries(
            rows.filter(({ name }) => name !== "").map(({ name, value }) => [name, value]),
          ),
        })}
        addLabel="Add a variable"
        removeLabelOf={({ name }) => `Remove ${visible(name) || "the variable"}`}
      >
        {(row, change) => (
          <>
            <TextInput
              aria-label="Name"
              placeholder="NODE_ENV"
              className="script"
              value={row.name}
              onChange={(event) => change({ ...row, name: event.currentTarget.value })}
            />
            <TextInput
              aria-label={`Value of ${visible(row.name) || "the variable"}`}
              style={{ flex: 1 }}
              value={row.value}
              onChange={(event) => change({ ...row, value: event.currentTarget.value })}
            />
          </>
        )}
      </RowsForm>
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
      <ForManagers>
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
      </ForManagers>
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
        <ForManagers>
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
        </ForManagers>
      </Table.Td>
    </Table.Tr>
  );
}
