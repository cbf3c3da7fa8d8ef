import { Checkbox, NumberInput, SegmentedControl, Select, TagsInput, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type StageName, stageNames } from "../../../src/model/stage/stage-name.ts";
import { Panel } from "../../components/page.tsx";
import { FormFoot } from "../../components/save-bar.tsx";
import { type ProjectChange, useProjectDraft } from "../../project-query.ts";
import { meQuery } from "../../session.ts";
import type { Project } from "../../shapes.ts";
import { t } from "../../text/text.ts";
import { ApprovalFields } from "./approval.tsx";
import { type PipelineSource, PipelineSourceFields, sourceChange, sourceOf } from "./pipeline-source.tsx";
import { isNameTaken, type NamedService, ServiceCards, shownServices, storedServices } from "./services.tsx";
import { filledSteps, StageSteps, type Step, shownSteps } from "./steps.tsx";

type Pipeline = Project["pipeline"];

/** What was typed for the other form stays until it is saved. */
interface Start {
  kind: "services" | "steps";
  services: NamedService[];
  steps: Step[];
}

/** Each list can change and conflict separately. `rule`: approvals. */
interface Fields extends Omit<Pipeline, "start"> {
  source: PipelineSource;
  start: Start;
  rollback: Project["rollback"];
  rollbackWithin: Project["rollbackWithin"];
  rule: Project["deploy"];
}

function startOf(start: Pipeline["start"]): Start {
  const steps = Array.isArray(start) ? start : [];
  return {
    kind: steps.length > 0 ? "steps" : "services",
    services: Array.isArray(start) ? [] : shownServices(start),
    steps: shownSteps("start", steps),
  };
}

function fieldsOf(project: Project): Fields {
  const { rollback, rollbackWithin, deploy: rule, pipeline } = project;
  const { build, deploy, start, ...rest } = pipeline;
  const shown = { build: shownSteps("build", build), deploy: shownSteps("deploy", deploy) };
  return {
    ...rest,
    ...shown,
    source: sourceOf(project),
    start: startOf(start),
    rollback,
    rollbackWithin,
    rule,
  };
}

function changeOf(changed: Partial<Fields>): ProjectChange {
  const { rollback, rollbackWithin, rule, source } = changed;
  const pipeline = {
    ...(source ? sourceChange(source) : {}),
    ...(source?.from === "repository" ? {} : pipelineOf(changed)),
  };
  return {
    ...{ rollback, rollbackWithin, deploy: rule },
    ...(Object.keys(pipeline).length === 0 ? {} : { pipeline }),
  };
}

/** What changed of a pipeline that the project itself says. */
function pipelineOf(changed: Partial<Fields>) {
  const { rollback: _, rollbackWithin: _within, rule: _rule, source: _source, ...said } = changed;
  const { build, deploy, start, ...folders } = said;
  return {
    ...folders,
    ...(build ? { build: filledSteps("build", build) } : {}),
    ...(deploy ? { deploy: filledSteps("deploy", deploy) } : {}),
    ...(start
      ? { start: start.kind === "steps" ? filledSteps("start", start.steps) : storedServices(start.services) }
      : {}),
  };
}

const hasScript = (steps: Step[]) => steps.some(({ script }) => script.trim() !== "");
const starts = ({ kind, services, steps }: Start) =>
  kind === "services" ? services.length > 0 : hasScript(steps);

export function StageSettings({ project }: { project: Project }) {
  const draft = useProjectDraft(project, fieldsOf, changeOf);
  const { value, set, refused } = draft;
  const { data: me } = useQuery(meQuery);
  // What follows a stage applies only if the stage has a script.
  const isFile = value.source.from === "repository";
  const deploys = isFile || starts(value.start) || hasScript(value.deploy);
  const setStart = (change: Partial<Start>) => set({ start: { ...value.start, ...change } });
  const isUnclear =
    !isFile &&
    value.start.kind === "services" &&
    value.start.services.some((_, at) => isNameTaken(value.start.services, at));
  const steps = (stage: StageName) => ({
    stage,
    isAdmin: me?.role === "admin",
    errorOf: (path: string) => refused?.about(path),
  });
  return (
    <Panel id="stages" title={t("settings.stages")} about={t("stages.about")}>
      <form
        className="form"
        style={{ maxWidth: 820 }}
        onSubmit={(event) => (isUnclear ? event.preventDefault() : draft.submit(event))}
      >
        <PipelineSourceFields
          project={project}
          value={value.source}
          onChange={(source) => set({ source })}
          errorOf={(path) => refused?.about(path)}
        />
        {!isFile && (
          <Group title={t("stages.groupScripts")}>
            <StageSteps {...steps("build")} steps={value.build} onChange={(build) => set({ build })} />
            <StageSteps {...steps("deploy")} steps={value.deploy} onChange={(deploy) => set({ deploy })} />
            <div>
              <Text size="sm" fw={600} mb={4} id="start-kind">
                {t("serviceForm.kind")}
              </Text>
              <SegmentedControl
                aria-labelledby="start-kind"
                fullWidth
                maw={460}
                styles={{ label: { whiteSpace: "normal" } }}
                data={[
                  { value: "services", label: t("serviceForm.kindServices") },
                  { value: "steps", label: t("serviceForm.kindSteps") },
                ]}
                value={value.start.kind}
                onChange={(kind) => setStart({ kind: kind === "steps" ? "steps" : "services" })}
              />
              <Text size="xs" c="dimmed" mt={4}>
                {t(
                  value.start.kind === "steps" ? "serviceForm.kindStepsHint" : "serviceForm.kindServicesHint",
                )}
              </Text>
            </div>
            {value.start.kind === "steps" ? (
              <StageSteps
                {...steps("start")}
                steps={value.start.steps}
                onChange={(changed) => setStart({ steps: changed })}
              />
            ) : (
              <ServiceCards
                isAdmin={me?.role === "admin"}
                errorOf={(path) => refused?.about(path)}
                services={value.start.services}
                onChange={(services) => setStart({ services })}
              />
            )}
          </Group>
        )}
        {deploys && (
          <Group title={t("stages.groupRelease")}>
            <Select
              label={t("stages.rollback")}
              data={[
                { value: "automatic", label: t("stages.rollbackAutomatic") },
                { value: "off", label: t("stages.rollbackOff") },
              ]}
              allowDeselect={false}
              value={value.rollback}
              onChange={(rollback) => set({ rollback: rollback === "automatic" ? "automatic" : "off" })}
            />
            {value.rollback === "automatic" && (
              <NumberInput
                label={t("stages.rollbackWithin")}
                description={t("stages.rollbackWithinHint")}
                min={0}
                max={1440}
                maw={260}
                value={value.rollbackWithin}
                error={refused?.about("rollbackWithin")}
                onChange={(minutes) => set({ rollbackWithin: Number(minutes) })}
              />
            )}
            {!isFile &&
              (["data", "scratch"] as const).map((list) => (
                <TagsInput
                  key={list}
                  label={t(`stages.${list}`)}
                  description={t(`stages.${list}Hint`)}
                  value={value[list]}
                  error={refused?.about(`pipeline.${list}`)}
                  onChange={(folders) => set({ [list]: folders })}
                />
              ))}
            {!isFile && (
              <Checkbox
                label={t("stages.sealed")}
                description={t("stages.sealedHint")}
                {...draft.flag("sealed")}
              />
            )}
          </Group>
        )}
        {(deploys || value.rule.approval === "required") && (
          <Group title={t("stages.groupApproval")}>
            <ApprovalFields value={value.rule} onChange={(rule) => set({ rule })} />
          </Group>
        )}
        <FormFoot draft={draft} failure={t("stages.notSaved")} labels={labelsOf()} />
      </form>
    </Panel>
  );
}

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <fieldset className="stage-group">
      <legend>{title}</legend>
      {children}
    </fieldset>
  );
}

/** Names of the fields, for conflicts. */
function labelsOf(): Record<keyof Fields, string> {
  const steps = Object.fromEntries(
    stageNames.map((stage) => [stage, t("stages.stepsOf", { stage: t(`stages.${stage}`) })]),
  ) as Record<StageName, string>;
  return {
    ...steps,
    source: t("pipelineFile.from"),
    data: t("stages.data"),
    scratch: t("stages.scratch"),
    sealed: t("stages.sealed"),
    rollback: t("stages.rollback"),
    rollbackWithin: t("stages.rollbackWithin"),
    rule: t("stages.approval"),
  };
}
