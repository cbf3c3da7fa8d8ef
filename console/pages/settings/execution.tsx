import { Checkbox, Group, NumberInput, Select, TagsInput, TextInput } from "@mantine/core";
import { Panel } from "../../components/page.tsx";
import { SaveBar } from "../../components/save-bar.tsx";
import { type ProjectChange, useProjectDraft } from "../../project-query.ts";
import type { Project } from "../../shapes.ts";

const stageNames = ["build", "deploy", "start"] as const;
type StageName = (typeof stageNames)[number];

/** One flat object, so that each field can change and conflict separately. */
type Fields = Pick<Project, "image" | "isolation" | "cache"> &
  Project["limits"] &
  Record<`${StageName}Image`, string> &
  Record<`${StageName}IsOffline`, boolean>;

function fieldsOf({ image, isolation, cache, limits, stages: { build, deploy, start } }: Project): Fields {
  return {
    ...{ image, isolation, cache, ...limits },
    buildImage: build.image ?? "",
    buildIsOffline: build.network === "none",
    deployImage: deploy.image ?? "",
    deployIsOffline: deploy.network === "none",
    startImage: start.image ?? "",
    startIsOffline: start.network === "none",
  };
}

function changeOf(changes: Partial<Fields>): ProjectChange {
  const { image, isolation, cache, memoryMb, cpus, processes, nice } = changes;
  const stage = (name: StageName) => {
    const isOffline = changes[`${name}IsOffline`];
    const network = isOffline === undefined ? undefined : isOffline ? ("none" as const) : ("bridge" as const);
    return { image: changes[`${name}Image`], network };
  };
  return {
    ...{ image, isolation, cache },
    limits: { memoryMb, cpus, processes, nice },
    stages: { build: stage("build"), deploy: stage("deploy"), start: stage("start") },
  };
}

const isolations = [
  { value: "none", label: "any runner" },
  { value: "user", label: "a runner whose scripts run as another user, or in containers" },
  { value: "container", label: "a runner that runs every script in a container" },
];

const bounds = [
  { field: "memoryMb", label: "Memory", suffix: " MiB", min: 16 },
  { field: "cpus", label: "Processors (containers only)", suffix: "", min: 0.01 },
  { field: "processes", label: "Processes", suffix: "", min: 8 },
] as const;

/** Where and how scripts run: containers, isolation, caches, limits. */
export function ExecutionSettings({ project }: { project: Project }) {
  const draft = useProjectDraft(project, fieldsOf, changeOf);
  const { value, set, text, refused } = draft;
  return (
    <Panel
      id="execution"
      title="Execution"
      about="With an image, scripts run in a container on a runner that has podman or docker. The workspace and the cache folders are mounted; the container ends with its script."
    >
      <form className="form" style={{ maxWidth: 820 }} onSubmit={draft.submit}>
        <TextInput
          label="Container image"
          description="For all stages; empty: no container, unless a stage names an image."
          placeholder="node:22"
          {...text("image")}
        />
        {stageNames.map((name) => (
          <Group key={name} gap={12} align="end">
            <TextInput
              size="xs"
              style={{ flex: "1 1 220px" }}
              label={`Image of ${name}`}
              placeholder="that of the project"
              {...text(`${name}Image`, `stages.${name}.image`)}
            />
            <Checkbox
              size="xs"
              mb={6}
              label="without network"
              aria-label={`${name} without network`}
              {...draft.flag(`${name}IsOffline`)}
            />
          </Group>
        ))}
        <Select
          label="Run on"
          description="Tasks wait while no such runner may run them."
          data={isolations}
          allowDeselect={false}
          value={value.isolation}
          onChange={(isolation) => set({ isolation: (isolation ?? "none") as Fields["isolation"] })}
        />
        <TagsInput
          label="Cache folders"
          description="Folders of the workspace that are kept for the next task, such as .npm. Press Enter after each."
          value={value.cache}
          error={refused?.about("cache")}
          onChange={(cache) => set({ cache })}
        />
        <Group gap={8}>
          {bounds.map(({ field, label, suffix, min }) => (
            <NumberInput
              key={field}
              style={{ flex: "1 1 180px" }}
              label={label}
              placeholder="no limit"
              suffix={suffix}
              min={min}
              value={value[field] ?? ""}
              error={refused?.about(`limits.${field}`)}
              onChange={(limit) => set({ [field]: limit === "" ? null : Number(limit) })}
            />
          ))}
          <NumberInput
            style={{ flex: "1 1 180px" }}
            label="Niceness (0 to 19)"
            min={0}
            max={19}
            value={value.nice}
            error={refused?.about("limits.nice")}
            onChange={(nice) => set({ nice: Number(nice) })}
          />
        </Group>
        <SaveBar draft={draft} />
      </form>
    </Panel>
  );
}
