import { ActionIcon, Button, Checkbox, NumberInput, Group as Row, TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import type { StageName } from "../../../src/model/stage/stage-name.ts";
import { isSideEffect, stepTitle } from "../../../src/model/stage/stage-name.ts";
import { Icon } from "../../components/icon.tsx";
import { useAnchor } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import { ScriptEditor } from "../../components/script-editor.tsx";
import type { Project } from "../../shapes.ts";
import { t } from "../../text/text.ts";
import { CheckFields } from "./check.tsx";

export type Step = Project["pipeline"]["build"][number];
type Field = keyof Step;

/** The values of a step that was just added. A field of the schema that is missing here is a type error. */
const fresh: Omit<Step, "name"> = {
  ...{ script: "", directory: "", timeout: null, image: "", network: "bridge", host: false },
  ...{ check: null, onRollback: false, once: false, pause: false },
};

/** A stage without steps shows the fields of its first one. Its fields have one order, so that forms compare equal. */
export function shownSteps(stage: StageName, steps: readonly Step[]): Step[] {
  const first: Step = { name: stage, ...fresh };
  const ordered = (step: Step) =>
    Object.fromEntries(Object.keys(first).map((field) => [field, step[field as Field]])) as Step;
  return steps.length === 0 ? [first] : steps.map(ordered);
}

/** Without what was only shown. */
export function filledSteps(stage: StageName, steps: Step[]): Step[] {
  const [blank] = shownSteps(stage, []);
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
  /** What the server says about a part of the field. */
  errorOf: (field: string) => string | undefined;
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
      suffix={t("words.secondsSuffix")}
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
  check: ({ stage, step, title, errorOf, change }) =>
    isSideEffect(stage) &&
    (stage === "start" || step.check !== null) && (
      <div className="form" style={{ flex: "1 1 100%" }}>
        <CheckFields
          title={title}
          value={step.check}
          suggested={suggestedCheck}
          onChange={(check) => change({ check })}
          errorOf={errorOf}
        />
      </div>
    ),
  onRollback: ({ stage, step, title, change }) =>
    stage === "deploy" && (
      <Checkbox
        size="xs"
        label={t("stages.onRollback")}
        aria-label={t("stages.onRollbackOf", { stage: title })}
        checked={step.onRollback}
        onChange={(event) => change({ onRollback: event.currentTarget.checked })}
      />
    ),
  once: ({ stage, step, title, change }) =>
    isSideEffect(stage) && (
      <Checkbox
        size="xs"
        label={t("stages.once")}
        aria-label={t("stages.onceOf", { stage: title })}
        checked={step.once}
        onChange={(event) => change({ once: event.currentTarget.checked })}
      />
    ),
  pause: ({ stage, step, title, error, change }) =>
    stage === "deploy" && (
      <Checkbox
        size="xs"
        label={t("stages.pause")}
        aria-label={t("stages.pauseOf", { stage: title })}
        checked={step.pause}
        error={error}
        onChange={(event) => change({ pause: event.currentTarget.checked })}
      />
    ),
};

const suggestedCheck = { http: "http://127.0.0.1:8080/", tcp: "127.0.0.1:8080", command: "" };

/** The places of the editors, in rows. */
const rows: Field[][] = [
  ["script"],
  ["name", "directory", "timeout", "image"],
  ["network", "host", "onRollback", "once", "pause"],
  ["check"],
];

export interface StageStepsProps {
  stage: StageName;
  steps: Step[];
  onChange: (steps: Step[]) => void;
  isAdmin: boolean;
  /** What the server says about a field of a step: `pipeline.build.0.script`. */
  errorOf: (path: string) => string | undefined;
}

/** The steps of a stage, at least one. */
export function StageSteps({ stage, steps, onChange, isAdmin, errorOf }: StageStepsProps) {
  const add = () => {
    const names = steps.map(({ name }) => name);
    const numbers = Array.from({ length: steps.length + 1 }, (_, index) => `${stage}-${index + 2}`);
    const name = numbers.find((each) => !names.includes(each)) ?? "";
    onChange([...steps, ...shownSteps(stage, []).map((step) => ({ ...step, name }))]);
  };
  const replaced = (at: number, ...others: Step[]) => onChange(steps.toSpliced(at, 1, ...others));
  const anchor = useAnchor<HTMLDivElement>(stage);
  return (
    <div className="script" id={stage} ref={anchor}>
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
                    errorOf={(part) => errorOf(`pipeline.${stage}.${at}.${part}`)}
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
    </div>
  );
}
