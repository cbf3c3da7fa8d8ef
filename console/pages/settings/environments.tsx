import { NumberInput, Select, Stack, TagsInput, Textarea, TextInput } from "@mantine/core";
import { Panel } from "../../components/page.tsx";
import { projectForm } from "../../project-query.ts";
import type { Project } from "../../shapes.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";
import { RequiredFields } from "./approval.tsx";
import { RowsForm } from "./rows-form.tsx";

type Environment = Project["environments"][number];
type Limits = Environment["limits"][string];
type Rule = Project["deploy"];

/** An environment as its form has it. */
type Row = Omit<Environment, "from" | "env" | "domains" | "labels"> & {
  from: string;
  env: string;
  domains: string;
  labels: string[];
};

const noLimits: Limits = { memoryMb: null, cpus: null, processes: null };
const approved: Rule = {
  ...{ approval: "required", branches: [], notByPusher: false, expiresAfterMinutes: 4320 },
};

const fresh: Environment = {
  ...{ name: "", refs: [], from: null, env: {}, labels: null, domains: {}, limits: {} },
  ...{ deploy: null, publicUrl: "" },
};

/** One line for each: `NAME=value`. */
function linesOf(values: Record<string, string>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");
}

function valuesOf(lines: string): Record<string, string> {
  const pairs = lines
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => {
      const at = line.indexOf("=");
      return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    });
  return Object.fromEntries(pairs);
}

function rowOf({ from, env, domains, labels, ...same }: Environment): Row {
  return { ...same, from: from ?? "", env: linesOf(env), domains: linesOf(domains), labels: labels ?? [] };
}

function environmentOf({ from, env, domains, labels, ...same }: Row): Environment {
  return {
    ...same,
    ...{ from: from === "" ? null : from, env: valuesOf(env), domains: valuesOf(domains) },
    labels: labels.length === 0 ? null : labels,
  };
}

/** The fields of the settings, as the form names them. */
function fieldLabels(): Readonly<Record<string, string>> {
  return {
    name: t("environments.name"),
    refs: t("environments.refs"),
    from: t("environments.source"),
    env: t("environments.variables"),
    domains: t("environments.domains"),
    labels: t("environments.labels"),
    limits: t("environments.limits"),
    deploy: t("environments.approval"),
    publicUrl: t("environments.publicUrl"),
  };
}

/** Where the project serves: which refs each environment takes, and what is different there. */
export function EnvironmentSettings({ project }: { project: Project }) {
  return (
    <Panel title={t("environments.title")} about={t("environments.about")}>
      <RowsForm<Row, Project, { environments: Environment[] }>
        form={projectForm(project)}
        rowsOf={({ environments }) => environments.map(rowOf)}
        fresh={rowOf(fresh)}
        changeOf={(rows) => ({ environments: rows.map(environmentOf) })}
        faultOf={(_, index, refused) => {
          const own = refused?.fields.find(({ field }) => field.startsWith(`environments.${index}.`));
          const [, , name = "", ...inside] = own?.field.split(".") ?? [];
          return own && [fieldLabels()[name] ?? name, ...inside, refused?.about(own.field)].join(" ");
        }}
        addLabel={t("environments.add")}
        removeLabelOf={({ name }) => t("environments.remove", { name: visible(name) })}
        failure={t("environments.saveFailed")}
        label={t("environments.title")}
        labels={fieldLabels()}
        isWide
      >
        {(row, change, fault, rows) => (
          <EnvironmentFields project={project} row={row} onChange={change} fault={fault} all={rows} />
        )}
      </RowsForm>
    </Panel>
  );
}

function EnvironmentFields({
  project,
  row,
  onChange,
  fault,
  all,
}: {
  project: Project;
  row: Row;
  onChange: (row: Row) => void;
  fault: string | undefined;
  all: Row[];
}) {
  const names = all.map(({ name }) => name.trim()).filter((name) => name !== "" && name !== row.name);
  // A source that was renamed or removed stays chosen, for the server to say so.
  const others = [...new Set(row.from === "" ? names : [...names, row.from])];
  return (
    <Stack gap="xs" className="environment-fields">
      <TextInput
        label={t("environments.name")}
        value={row.name}
        error={fault}
        required
        onChange={({ currentTarget }) => onChange({ ...row, name: currentTarget.value })}
      />
      <Select
        label={t("environments.source")}
        description={t("environments.sourceHint")}
        data={[
          { value: "", label: t("environments.fromRefs") },
          ...others.map((name) => ({ value: name, label: t("environments.fromOther", { name }) })),
        ]}
        allowDeselect={false}
        value={row.from}
        onChange={(from) => onChange({ ...row, from: from ?? "", refs: from ? [] : row.refs })}
      />
      {row.from === "" && (
        <TagsInput
          label={t("environments.refs")}
          description={t("environments.refsHint")}
          value={row.refs}
          onChange={(refs) => onChange({ ...row, refs })}
        />
      )}
      <Textarea
        label={t("environments.variables")}
        description={t("environments.variablesHint")}
        autosize
        minRows={2}
        value={row.env}
        onChange={({ currentTarget }) => onChange({ ...row, env: currentTarget.value })}
      />
      <Textarea
        label={t("environments.domains")}
        description={t("environments.domainsHint")}
        autosize
        minRows={1}
        value={row.domains}
        onChange={({ currentTarget }) => onChange({ ...row, domains: currentTarget.value })}
      />
      <TagsInput
        label={t("environments.labels")}
        description={t("environments.labelsHint")}
        value={row.labels}
        onChange={(labels) => onChange({ ...row, labels })}
      />
      <LimitFields project={project} row={row} onChange={onChange} />
      <Select
        label={t("environments.approval")}
        data={[
          { value: "", label: t("environments.approvalOfProject") },
          { value: "none", label: t("stages.approvalNone") },
          { value: "required", label: t("stages.approvalRequired") },
        ]}
        allowDeselect={false}
        value={row.deploy?.approval ?? ""}
        onChange={(approval) => onChange({ ...row, deploy: ruleOf(approval, row.deploy) })}
      />
      {row.deploy?.approval === "required" && (
        <RequiredFields value={row.deploy} onChange={(deploy) => onChange({ ...row, deploy })} />
      )}
      <TextInput
        label={t("environments.publicUrl")}
        description={t("environments.publicUrlHint")}
        value={row.publicUrl}
        onChange={({ currentTarget }) => onChange({ ...row, publicUrl: currentTarget.value })}
      />
    </Stack>
  );
}

function ruleOf(approval: string | null, before: Rule | null): Rule | null {
  if (approval !== "none" && approval !== "required") return null;
  return { ...(before ?? approved), approval };
}

/** The services that have other limits here. Those of a pipeline in the repository need not be known yet. */
function LimitFields({
  project,
  row,
  onChange,
}: {
  project: Project;
  row: Row;
  onChange: (row: Row) => void;
}) {
  const { start } = project.pipeline;
  const chosen = Object.keys(row.limits);
  const choose = (names: string[]) =>
    onChange({
      ...row,
      limits: Object.fromEntries(names.map((name) => [name, row.limits[name] ?? noLimits])),
    });
  const change = (name: string, changed: Partial<Limits>) =>
    onChange({
      ...row,
      limits: { ...row.limits, [name]: { ...(row.limits[name] ?? noLimits), ...changed } },
    });
  return (
    <>
      <TagsInput
        label={t("environments.limits")}
        description={t("environments.limitsHint")}
        data={Array.isArray(start) ? [] : Object.keys(start)}
        value={chosen}
        onChange={choose}
      />
      {chosen.map((name) => (
        <div key={name} className="environment-limits">
          {(["memoryMb", "cpus", "processes"] as const).map((limit) => (
            <NumberInput
              key={limit}
              size="xs"
              label={t("serviceForm.limitOf", {
                limit: t(`serviceForm.limit_${limit}`),
                name: visible(name),
              })}
              placeholder={t("environments.limitOfPipeline")}
              value={row.limits[name]?.[limit] ?? ""}
              onChange={(value) => change(name, { [limit]: value === "" ? null : Number(value) })}
            />
          ))}
        </div>
      ))}
    </>
  );
}
