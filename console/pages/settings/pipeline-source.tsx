import { SegmentedControl, Text, TextInput } from "@mantine/core";
import { Link } from "wouter";
import { shortCommit } from "../../../src/model/git/short-commit.ts";
import { type StageName, stageNames } from "../../../src/model/stage/stage-name.ts";
import type { Project } from "../../shapes.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";

const usualPath = ".slipway.yaml";

/** Who says the pipeline: these settings, or a file of the repository. */
export interface PipelineSource {
  from: "project" | "repository";
  path: string;
}

export function sourceOf({ pipelineFile }: Project): PipelineSource {
  return { from: pipelineFile === null ? "project" : "repository", path: pipelineFile?.path ?? usualPath };
}

export function sourceChange({ from, path }: PipelineSource) {
  return from === "project" ? { from } : { from, path };
}

interface FieldsProps {
  project: Project;
  value: PipelineSource;
  onChange: (value: PipelineSource) => void;
  errorOf: (path: string) => string | undefined;
}

export function PipelineSourceFields({ project, value, onChange, errorOf }: FieldsProps) {
  return (
    <div>
      <Text size="sm" fw={600} mb={4} id="pipeline-from">
        {t("pipelineFile.from")}
      </Text>
      <SegmentedControl
        aria-labelledby="pipeline-from"
        fullWidth
        maw={460}
        styles={{ label: { whiteSpace: "normal" } }}
        data={[
          { value: "project", label: t("pipelineFile.fromProject") },
          { value: "repository", label: t("pipelineFile.fromRepository") },
        ]}
        value={value.from}
        onChange={(from) => onChange({ ...value, from: from === "repository" ? "repository" : "project" })}
      />
      {errorOf("pipeline.from") && (
        <Text size="xs" c="red" mt={4} role="alert">
          {errorOf("pipeline.from")}
        </Text>
      )}
      {value.from === "repository" && (
        <>
          <TextInput
            mt={12}
            maw={460}
            label={t("pipelineFile.path")}
            description={t("pipelineFile.pathHint")}
            value={value.path}
            error={errorOf("pipeline.path")}
            onChange={(event) => onChange({ ...value, path: event.currentTarget.value })}
          />
          <LastRead project={project} />
        </>
      )}
    </div>
  );
}

/** The file that the last deploy has read, and what it runs. */
function LastRead({ project: { fileRead, pipelineFile, pipeline } }: { project: Project }) {
  if (pipelineFile === null) return null;
  if (fileRead === null)
    return (
      <Text size="sm" c="dimmed" mt={12}>
        {t("pipelineFile.notRead")}
      </Text>
    );
  const { taskId, commit } = fileRead;
  return (
    <>
      <Text size="sm" mt={12}>
        {t("pipelineFile.read", { path: visible(pipelineFile.path), commit: shortCommit(commit) })}{" "}
        <Link href={`/tasks/${String(taskId)}`}>{t("pipelineFile.task", { task: taskId })}</Link>
      </Text>
      <ul>
        {stageNames.map((stage) => (
          <li key={stage}>
            {t("pipelineFile.runs", { stage, names: namesIn(pipeline, stage) || t("pipelineFile.nothing") })}
          </li>
        ))}
      </ul>
    </>
  );
}

function namesIn(pipeline: Project["pipeline"], stage: StageName): string {
  const runs = pipeline[stage];
  return (Array.isArray(runs) ? runs.map(({ name }) => name) : Object.keys(runs)).join(", ");
}
