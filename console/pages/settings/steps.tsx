import { ActionIcon, Button, Checkbox, NumberInput, Group as Row, TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import type { StageName } from "../../../src/model/stage/stage-name.ts";
import { isSideEffect, stepTitle } from "../../../src/model/stage/stage-name.ts";
import { Icon } from "../../components/icon.tsx";
import { ForManagers } from "../../components/permission.tsx";
import { ScriptEditor } from "../../components/script-editor.tsx";
import type { Project } from "../../shapes.ts";
import { t } from "../../text/text.ts";

export type Step = Project["pipeline"]["build"][number];
export type StartStep = Project["pipeline"]["start"][number];
type Field = keyof Step;

/** The values of a step that was just added. A field of the schema that is missing here is a type error. */
const fresh: Omit<Step, "name"> = {
  ...{ script: "", directory: "", timeout: null, image: "", network: "bridge", host: false },
};
const freshStart: Omit<StartStep, "name"> = {
  ...fresh,
  ...{ healthCheck: null, previous: "stop-first", settleSeconds: 5, log: "", switch: "" },
};

/** A stage without steps shows the fields of its first one. Its fields have one order, so that forms compare equal. */
export function shownSteps<S extends Step>(stage: StageName, steps: readonly S[]): S[] {
  const first = { name: stage, ...(stage === "start" ? freshStart : fresh) } as S;
  const ordered = (step: S) =>
    Object.fromEntries(Object.keys(first).map((field) => [field, step[field as keyof S]])) as unknown as S;
  return steps.length === 0 ? [first] : steps.map(ordered);
}

/** Without what was only shown. */
export function filledSteps<S extends Step>(stage: StageName, steps: S[]): S[] {
  const [blank] = shownSteps<S>(stage, []);
  return steps.filter((step) => JSON.stringify({ ...step, name: stage }) !== JSON.stringify(blank));
}

const examples: Record<StageName, string> = {
  build: "npm ci\nnpm run build",
  deploy: 'rsync -a --delete dist/ "$DEPLOY_HOST":/srv/shop/',
  start: 'ssh "$DEPLOY_HOST" systemctl restart shop',
};
const imageExample = "node:22";

interface FieldProps {
  stage: StageName;
  step: Step;
  /** How the step is named. */
  title: string;
  isAlone: boolean;
  isAdmin: boolean;
  error: string | undefined;
  change: (change: Partial<Step>) => void;
}

/** A field of the schema without an editor is a type error. */
const editors: Record<Field, (props: FieldProps) => ReactNode> = {
  name: ({ stage, step, title, isAlone, error, change }) =>
    (!isAlone || step.name !== stage) && (
      <TextInput
        size="xs"
        style={{ flex: "1 1 160px" }}
        label={t("stages.stepName")}
        aria-label={t("stages.stepNameOf", { stage: title })}
        value={step.name}
        error={error}
        onChange={(event) => change({ name: event.currentTarget.value })}
      />
    ),
  script: ({ stage, step, title, error, change }) => (
    <ScriptEditor
      label={title}
      description={t(`stages.${stage}Hint`)}
      placeholder={examples[stage]}
      value={step.script}
      error={error}
      onChange={(event) => change({ script: event.currentTarget.value })}
    />
  ),
  directory: ({ step, title, error, change }) => (
    <TextInput
      size="xs"
      style={{ flex: "1 1 160px" }}
      label={t("stages.folder")}
      aria-label={t("stages.folderOf", { stage: title })}
      placeholder={t("stages.folderRoot")}
      value={step.directory}
      error={error}
      onChange={(event) => change({ directory: event.currentTarget.value })}
    />
  ),
  timeout: ({ step, title, error, change }) => (
    <NumberInput
      size="xs"
      style={{ flex: "1 1 160px" }}
      label={t("stages.timeLimit")}
      aria-label={t("stages.timeLimitOf", { stage: title })}
      placeholder={t("stages.timeLimitTask")}
      suffix=" s"
      min={1}
      value={step.timeout ?? ""}
      error={error}
      onChange={(timeout) => change({ timeout: timeout === "" ? null : Number(timeout) })}
    />
  ),
  image: ({ step, title, error, change }) => (
    <TextInput
      size="xs"
      style={{ flex: "1 1 160px" }}
      label={t("stages.image")}
      aria-label={t("execution.imageOf", { stage: title })}
      placeholder={t("execution.imageOfProject")}
      title={imageExample}
      value={step.image}
      error={error}
      onChange={(event) => change({ image: event.currentTarget.value })}
    />
  ),
  network: ({ step, title, change }) => (
    <Checkbox
      size="xs"
      label={t("execution.offline")}
      aria-label={t("execution.offlineOf", { stage: title })}
      checked={step.network === "none"}
      onChange={(event) => change({ network: event.currentTarget.checked ? "none" : "bridge" })}
    />
  ),
  host: ({ stage, step, title, isAdmin, error, change }) =>
    isSideEffect(stage) &&
    (isAdmin || step.host) && (
      <Checkbox
        size="xs"
        label={t("stages.host")}
        aria-label={t("stages.hostOf", { stage: title })}
        checked={step.host}
        disabled={!isAdmin}
        error={error}
        onChange={(event) => change({ host: event.currentTarget.checked })}
      />
    ),
};

/** The places of the editors, in rows. */
const rows: Field[][] = [["script"], ["name", "directory", "timeout", "image"], ["network", "host"]];

export interface StageStepsProps<S extends Step> {
  stage: StageName;
  steps: S[];
  onChange: (steps: S[]) => void;
  isAdmin: boolean;
  /** What the server says about a field of a step: `pipeline.build.0.script`. */
  errorOf: (path: string) => string | undefined;
  /** Whether the stage may have several. */
  isList: boolean;
}

/** The steps of a stage, at least one. */
export function StageSteps<S extends Step>({
  stage,
  steps,
  onChange,
  isAdmin,
  errorOf,
  isList,
}: StageStepsProps<S>) {
  const add = () => {
    const names = steps.map(({ name }) => name);
    const numbers = Array.from({ length: steps.length + 1 }, (_, index) => `${stage}-${index + 2}`);
    const name = numbers.find((each) => !names.includes(each)) ?? "";
    onChange([...steps, ...shownSteps<S>(stage, []).map((step) => ({ ...step, name }))]);
  };
  const replaced = (at: number, ...others: S[]) => onChange(steps.toSpliced(at, 1, ...others));
  return (
    <div className="script">
      {[...steps.entries()].map(([at, step]) => (
        <div key={`${stage} ${String(at)}`} className="step">
          {rows.map((fields) => (
            <Row key={fields.join()} gap={8} mt={8} align="end">
              {fields.map((field) => {
                const Editor = editors[field];
                return (
                  <Editor
                    key={field}
                    stage={stage}
                    step={step}
                    title={stepTitle(stage, step.name)}
                    isAlone={steps.length === 1}
                    isAdmin={isAdmin}
                    error={errorOf(`pipeline.${stage}.${at}.${field}`)}
                    change={(change) => replaced(at, { ...step, ...change })}
                  />
                );
              })}
              {fields.includes("network") && steps.length > 1 && (
                <ForManagers>
                  <ActionIcon
                    ml="auto"
                    variant="subtle"
                    color="gray"
                    disabled={at === 0}
                    aria-label={t("stages.moveUp", { step: stepTitle(stage, step.name) })}
                    onClick={() => onChange(steps.toSpliced(at, 1).toSpliced(at - 1, 0, step))}
                  >
                    <Icon name="up" size={16} />
                  </ActionIcon>
                  <ActionIcon
                    variant="subtle"
                    color="gray"
                    aria-label={t("stages.removeStep", { step: stepTitle(stage, step.name) })}
                    onClick={() => replaced(at)}
                  >
                    <Icon name="bin" size={16} />
                  </ActionIcon>
                </ForManagers>
              )}
            </Row>
          ))}
        </div>
      ))}
      {isList && (
        <ForManagers>
          <Button
            mt={8}
            variant="default"
            size="compact-sm"
            leftSection={<Icon name="plus" size={14} />}
            onClick={add}
          >
            {t("stages.addStep", { stage })}
          </Button>
        </ForManagers>
      )}
    </div>
  );
}
