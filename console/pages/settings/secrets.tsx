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

/** Whose secrets they are. */
interface Owner {
  of: "projects" | "groups";
  id: number;
}

function endpointOf({ of }: Owner) {
  return of === "projects" ? api.projects[":id"].secrets[":name"] : api.groups[":id"].secrets[":name"];
}

/** What shows secrets, or what a project has of its group. */
const refresh = ["project", "groups"];

/** Secrets of a project or a group are written, never read: a list of names, each to replace or delete. */
export function SecretSettings({
  owner,
  secrets,
  usual,
  about,
}: {
  owner: Owner;
  secrets: Secret[];
  /** The stages of a new secret, unless the user chooses others. */
  usual: Scope;
  about: string;
}) {
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const [chosen, setChosen] = useState<Scope | null>(null);
  const [chosenForm, setChosenForm] = useState<Form | null>(null);
  useUnsaved(name !== "" || value !== "");
  const known = secrets.find((secret) => secret.name === name);
  const scope = chosen ?? known?.scope ?? usual;
  const form = chosenForm ?? known?.as ?? "variable";
  const set = useAct(
    () =>
      answerOf(
        endpointOf(owner).$put({
          param: { id: owner.id, name },
          json: { value, scope, as: form },
        }),
      ),
    { done: t("variables.secretStored", { name }), refresh },
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
    <Panel title={t("variables.secrets")} about={about}>
      {secrets.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t("variables.noSecrets")}
        </Text>
      ) : (
        <Table aria-label={t("variables.secrets")} maw={820}>
          <Table.Tbody>
            {secrets.map((secret) => (
              <SecretRow key={secret.name} owner={owner} secret={secret} />
            ))}
          </Table.Tbody>
        </Table>
      )}
      <ForManagers>
        <form onSubmit={submit}>
          <Group className="field-row" mt="md" gap="sm">
            <TextInput
              label={t("variables.name")}
              placeholder={exampleName}
              required
              value={name}
              error={set.errorOf("name")}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <PasswordInput
              label={t("variables.value")}
              required
              w={220}
              autoComplete="off"
              value={value}
              error={set.errorOf("value")}
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

/** Which stages get a secret, in words. */
export function scopeTitle(scope: Scope): string {
  return scope === "all" ? t("variables.allStages") : t("variables.deployStages");
}

function scopeChoices(): { value: Scope; label: string }[] {
  return (["all", "deploy"] as const).map((value) => ({ value, label: scopeTitle(value) }));
}

function formChoices(): { value: Form; label: string }[] {
  return [
    { value: "variable", label: t("variables.asVariable") },
    { value: "file", label: t("variables.asFile") },
  ];
}

function SecretRow({ owner, secret }: { owner: Owner; secret: Secret }) {
  const { name, scope, isScopeChosen, as } = secret;
  const choose = useAct(
    (use: { scope: Scope } | { as: Form }) =>
      answerOf(
        endpointOf(owner).$patch({
          param: { id: owner.id, name },
          json: use,
        }),
      ),
    { done: t("variables.stagesSaved", { name }), refresh },
  );
  return (
    <Table.Tr>
      <Table.Td>
        <div className="secret-row">
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
        </div>
      </Table.Td>
      <Table.Td ta="right" className="nowrap">
        <ForManagers>
          <ConfirmButton
            label={t("variables.deleteSecretShort")}
            aria-label={t("variables.deleteNamed", { name })}
            size="compact-sm"
            title={t("variables.deleteQuestion", { name })}
            confirm={t("variables.deleteSecret")}
            isDanger
            onConfirm={() => answerOf(endpointOf(owner).$delete({ param: { id: owner.id, name } }))}
            done={t("variables.secretDeleted", { name })}
            refresh={refresh}
          >
            {t("variables.deleteHint")}
          </ConfirmButton>
        </ForManagers>
      </Table.Td>
    </Table.Tr>
  );
}
