import { Button, Group, PasswordInput, Table, Text, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useAct } from "../../act.ts";
import { type ApiProblem, answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { Panel } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import type { Project } from "../../shapes.ts";
import { t } from "../../text/text.ts";
import { useUnsaved } from "../../unsaved.ts";
import { visible } from "../../visible.ts";
import { DotEnvButton } from "./dot-env-button.tsx";
import { RowsForm } from "./rows-form.tsx";

const examples = { variable: "NODE_ENV", secret: "DEPLOY_TOKEN" };

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
  if (row.name === "") return t("variables.nameMissing");
  if (rows.findIndex(({ name }) => name === row.name) < index) return t("variables.nameTaken");
  return refused?.about(`env.${row.name}`);
}

/** Plain variables of the scripts, saved as a whole. */
export function EnvironmentSettings({ project }: { project: Project }) {
  return (
    <Panel title={t("variables.title")} about={t("variables.about")}>
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
        addLabel={t("variables.add")}
        removeLabelOf={({ name }) =>
          t("variables.remove", { name: visible(name) || t("variables.theVariable") })
        }
        failure={t("variables.notSaved")}
        label={t("variables.title")}
        extra={(rows, replace) => (
          <DotEnvButton rows={rows.filter((row) => !isEmpty(row))} onRead={replace} />
        )}
      >
        {(row, change, fault) => (
          <>
            <TextInput
              aria-label={t("variables.name")}
              placeholder={examples.variable}
              className="script"
              style={{ flex: "0 1 220px" }}
              value={row.name}
              error={fault}
              onChange={(event) => change({ ...row, name: event.currentTarget.value })}
            />
            <TextInput
              aria-label={t("variables.valueOf", { name: visible(row.name) || t("variables.theVariable") })}
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
    { done: t("variables.secretStored", { name }), refresh: ["project"] },
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
    <Panel title={t("variables.secrets")} about={t("variables.secretsAbout")}>
      {project.secretNames.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t("variables.noSecrets")}
        </Text>
      ) : (
        <Table aria-label={t("variables.secrets")} maw={640}>
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
              label={t("variables.name")}
              placeholder={examples.secret}
              required
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <PasswordInput
              label={t("variables.value")}
              required
              w={220}
              autoComplete="off"
              value={value}
              onChange={(event) => setValue(event.currentTarget.value)}
            />
            <Button type="submit" loading={set.isPending}>
              {project.secretNames.includes(name) ? t("variables.replaceSecret") : t("variables.storeSecret")}
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
    { done: t("variables.secretDeleted", { name }), refresh: ["project"] },
  );
  return (
    <Table.Tr>
      <Table.Td>
        <code>{name}</code>
      </Table.Td>
      <Table.Td ta="right">
        <ForManagers>
          <ConfirmButton
            label={t("variables.deleteSecretShort")}
            aria-label={t("variables.deleteNamed", { name })}
            size="compact-sm"
            title={t("variables.deleteQuestion", { name })}
            confirm={t("variables.deleteSecret")}
            isDanger
            onConfirm={() => remove.mutateAsync(undefined)}
          >
            {t("variables.deleteHint")}
          </ConfirmButton>
        </ForManagers>
      </Table.Td>
    </Table.Tr>
  );
}
