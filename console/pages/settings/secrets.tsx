import { Button, Group, PasswordInput, Select, Table, Text, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useAct } from "../../act.ts";
import { answerOf, api } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { Panel } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import type { Project } from "../../shapes.ts";
import { t } from "../../text/text.ts";
import { useUnsaved } from "../../unsaved.ts";

type Secret = Project["secrets"][number];
type Scope = Secret["scope"];
type Form = Secret["as"];

const exampleName = "DEPLOY_TOKEN";

function isScope(value: string | null): value is Scope {
  return value === "all" || value === "deploy";
}

function isForm(value: string | null): value is Form {
  return value === "variable" || value === "file";
}

/** Secrets are written, never read: a list of names, each to replace or delete. */
export function SecretSettings({ project }: { project: Project }) {
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const [chosen, setChosen] = useState<Scope | null>(null);
  const [chosenForm, setChosenForm] = useState<Form | null>(null);
  useUnsaved(name !== "" || value !== "");
  const known = project.secrets.find((secret) => secret.name === name);
  const usual = project.deploy.approval === "required" ? "deploy" : "all";
  const scope = chosen ?? known?.scope ?? usual;
  const form = chosenForm ?? known?.as ?? "variable";
  const set = useAct(
    () =>
      answerOf(
        api.projects[":id"].secrets[":name"].$put({
          param: { id: project.id, name },
          json: { value, scope, as: form },
        }),
      ),
    { done: t("variables.secretStored", { name }), refresh: ["project"] },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    set.mutate(undefined, {
      onSuccess: () => {
        setName("");
        setValue("");
        setChosen(null);
        setChosenForm(null);
      },
    });
  };
  return (
    <Panel title={t("variables.secrets")} about={t("variables.secretsAbout")}>
      {project.secrets.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t("variables.noSecrets")}
        </Text>
      ) : (
        <Table aria-label={t("variables.secrets")} maw={640}>
          <Table.Tbody>
            {project.secrets.map((secret) => (
              <SecretRow key={secret.name} projectId={project.id} secret={secret} />
            ))}
          </Table.Tbody>
        </Table>
      )}
      <ForManagers>
        <form onSubmit={submit}>
          <Group align="flex-end" mt="md" gap="sm">
            <TextInput
              label={t("variables.name")}
              placeholder={exampleName}
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
            <Select
              label={t("variables.stages")}
              w={220}
              allowDeselect={false}
              data={scopeChoices()}
              value={scope}
              onChange={(each) => isScope(each) && setChosen(each)}
            />
            <Select
              label={t("variables.form")}
              w={160}
              allowDeselect={false}
              data={formChoices()}
              value={form}
              onChange={(each) => isForm(each) && setChosenForm(each)}
            />
            <Button type="submit" loading={set.isPending}>
              {known ? t("variables.replaceSecret") : t("variables.storeSecret")}
            </Button>
          </Group>
        </form>
      </ForManagers>
      <Text size="sm" c="dimmed" mt="sm">
        {t("variables.stagesHint")}
      </Text>
    </Panel>
  );
}

function scopeChoices(): { value: Scope; label: string }[] {
  return [
    { value: "all", label: t("variables.allStages") },
    { value: "deploy", label: t("variables.deployStages") },
  ];
}

function formChoices(): { value: Form; label: string }[] {
  return [
    { value: "variable", label: t("variables.asVariable") },
    { value: "file", label: t("variables.asFile") },
  ];
}

function SecretRow({ projectId, secret }: { projectId: number; secret: Secret }) {
  const { name, scope, isScopeChosen, as } = secret;
  const choose = useAct(
    (use: { scope: Scope } | { as: Form }) =>
      answerOf(
        api.projects[":id"].secrets[":name"].$patch({
          param: { id: projectId, name },
          json: use,
        }),
      ),
    { done: t("variables.stagesSaved", { name }), refresh: ["project"] },
  );
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap="xs">
          <code className="secret-name">{name}</code>
          <Select
            aria-label={t("variables.stagesOf", { name })}
            size="xs"
            w={200}
            allowDeselect={false}
            placeholder={t("variables.stagesNotChosen")}
            data={scopeChoices().map((choice) => ({
              ...choice,
              // The server asks for the value again.
              disabled: choice.value === "all" && scope === "deploy",
            }))}
            value={isScopeChosen ? scope : null}
            onChange={(chosen) => isScope(chosen) && choose.mutate({ scope: chosen })}
          />
          <Select
            aria-label={t("variables.formOf", { name })}
            size="xs"
            w={120}
            allowDeselect={false}
            data={formChoices()}
            value={as}
            onChange={(chosen) => isForm(chosen) && choose.mutate({ as: chosen })}
          />
        </Group>
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
            onConfirm={() =>
              answerOf(api.projects[":id"].secrets[":name"].$delete({ param: { id: projectId, name } }))
            }
            done={t("variables.secretDeleted", { name })}
            refresh={["project"]}
          >
            {t("variables.deleteHint")}
          </ConfirmButton>
        </ForManagers>
      </Table.Td>
    </Table.Tr>
  );
}
