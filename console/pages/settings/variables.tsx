import { Button, Group, PasswordInput, Table, Text, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useAct } from "../../act.ts";
import { type ApiProblem, answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { Panel } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import type { Project } from "../../shapes.ts";
import { useUnsaved } from "../../unsaved.ts";
import { visible } from "../../visible.ts";
import { RowsForm } from "./rows-form.tsx";

interface Variable {
  name: string;
  value: string;
}

function variablesOf({ env }: Project): Variable[] {
  return Object.entries(env).map(([name, value]) => ({ name, value }));
}

/** An empty row is not a variable. */
function isEmpty({ name, value }: Variable): boolean {
  return name === "" && value === "";
}

/** Rows that would be dropped or overwritten silently are errors. */
function faultOf(rows: Variable[], index: number, refused: ApiProblem | null): string | undefined {
  const row = rows[index];
  if (row === undefined || isEmpty(row)) return undefined;
  if (row.name === "") return "Give the value a name, or remove the row.";
  if (rows.findIndex(({ name }) => name === row.name) < index) return "Another row has this name.";
  return refused?.about(`env.${row.name}`);
}

/** Plain variables of the scripts, saved as a whole. */
export function EnvironmentSettings({ project }: { project: Project }) {
  return (
    <Panel title="Environment" about="Variables that every script gets. What must stay secret belongs below.">
      <RowsForm
        project={project}
        rowsOf={variablesOf}
        fresh={{ name: "", value: "" }}
        changeOf={(rows) => ({
          env: Object.fromEntries(
            rows.filter((row) => !isEmpty(row)).map(({ name, value }) => [name, value]),
          ),
        })}
        faultOf={faultOf}
        addLabel="Add a variable"
        removeLabelOf={({ name }) => `Remove ${visible(name) || "the variable"}`}
      >
        {(row, change, fault) => (
          <>
            <TextInput
              aria-label="Name"
              placeholder="NODE_ENV"
              className="script"
              style={{ flex: "0 1 220px" }}
              value={row.name}
              error={fault}
              onChange={(event) => change({ ...row, name: event.currentTarget.value })}
            />
            <TextInput
              aria-label={`Value of ${visible(row.name) || "the variable"}`}
              style={{ flex: "1 1 140px" }}
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
  useUnsaved(name !== "" || value !== "");
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
