import { Group, NumberInput, Select, TagsInput, TextInput } from "@mantine/core";
import { Panel } from "../../components/page.tsx";
import { FormFoot } from "../../components/save-bar.tsx";
import { type ProjectChange, useProjectDraft } from "../../project-query.ts";
import type { Project } from "../../shapes.ts";
import { t } from "../../text/text.ts";

/** One flat object, so that each field can change and conflict separately. */
type Fields = Pick<Project, "image" | "isolation" | "cache"> & Project["limits"];

function fieldsOf({ image, isolation, cache, limits }: Project): Fields {
  return { image, isolation, cache, ...limits };
}

function changeOf({ image, isolation, cache, ...limits }: Partial<Fields>): ProjectChange {
  return { image, isolation, cache, limits };
}

const imageExample = "node:22";

const bounds = [
  { field: "memoryMb", suffix: " MB", min: 16 },
  { field: "cpus", suffix: "", min: 0.01 },
  { field: "processes", suffix: "", min: 8 },
  { field: "diskMb", suffix: " MB", min: 1 },
] as const;

/** Names of the fields. */
function labelsOf(): Record<keyof Fields, string> {
  return {
    image: t("execution.image"),
    isolation: t("execution.isolation"),
    cache: t("execution.cache"),
    memoryMb: t("execution.memory"),
    cpus: t("execution.cpus"),
    processes: t("execution.processes"),
    diskMb: t("execution.disk"),
    nice: t("execution.nice"),
  };
}

/** Where and how scripts run: containers, isolation, caches, limits. */
export function ExecutionSettings({ project }: { project: Project }) {
  const draft = useProjectDraft(project, fieldsOf, changeOf);
  const { value, set, text, refused } = draft;
  const labels = labelsOf();
  return (
    <Panel id="execution" title={t("settings.execution")} about={t("execution.about")}>
      <form className="form" style={{ maxWidth: 820 }} onSubmit={draft.submit}>
        <TextInput
          label={labels.image}
          description={t("execution.imageHint")}
          placeholder={imageExample}
          {...text("image")}
        />
        <Select
          label={labels.isolation}
          description={t("execution.isolationHint")}
          data={[
            { value: "none", label: t("execution.isolationNone") },
            { value: "sandbox", label: t("execution.isolationSandbox") },
            { value: "container", label: t("execution.isolationContainer") },
          ]}
          allowDeselect={false}
          value={value.isolation}
          onChange={(isolation) => set({ isolation: (isolation ?? "none") as Fields["isolation"] })}
        />
        <TagsInput
          label={labels.cache}
          description={t("execution.cacheHint")}
          value={value.cache}
          error={refused?.about("cache")}
          onChange={(cache) => set({ cache })}
        />
        <Group gap={8} align="end">
          {bounds.map(({ field, suffix, min }) => (
            <NumberInput
              key={field}
              style={{ flex: "1 1 180px" }}
              label={labels[field]}
              placeholder={t("execution.noLimit")}
              suffix={suffix}
              min={min}
              value={value[field] ?? ""}
              error={refused?.about(`limits.${field}`)}
              onChange={(limit) => set({ [field]: limit === "" ? null : Number(limit) })}
            />
          ))}
          <NumberInput
            style={{ flex: "1 1 180px" }}
            label={labels.nice}
            min={0}
            max={19}
            value={value.nice}
            error={refused?.about("limits.nice")}
            onChange={(nice) => set({ nice: Number(nice) })}
          />
        </Group>
        <FormFoot draft={draft} failure={t("execution.notSaved")} labels={labels} />
      </form>
    </Panel>
  );
}
