import { Checkbox, Select, TagsInput } from "@mantine/core";
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
import { HealthCheckFields } from "./health-check.tsx";
import { StartSettings } from "./start.tsx";
import { filledSteps, StageSteps, type StartStep, type Step, shownSteps } from "./steps.tsx";

type Pipeline = Project["pipeline"];

/** Each list can change and conflict separately. `rule`: approvals. */
interface Fields extends Pipeline {
  rollback: Project["rollback"];
  rule: Project["deploy"];
}

function fieldsOf({ rollback, deploy: rule, pipeline }: Project): Fields {
  const steps = {
    build: shownSteps("build", pipeline.build),
    deploy: shownSteps("deploy", pipeline.deploy),
    start: shownSteps("start", pipeline.start),
  };
  return { ...pipeline, ...steps, rollback, rule };
}

function changeOf({ rollback, rule, build, deploy, start, ...rest }: Partial<Fields>): ProjectChange {
  const pipeline = {
    ...rest,
    ...(build ? { build: filledSteps("build", build) } : {}),
    ...(deploy ? { deploy: filledSteps("deploy", deploy) } : {}),
    ...(start ? { start: filledSteps("start", start) } : {}),
  };
  return {
    rollback,
    deploy: rule,
    ...(Object.keys(pipeline).length === 0 ? {} : { pipeline }),
  };
}

const hasScript = (steps: Step[]) => steps.some(({ script }) => script.trim() !== "");

export function StageSettings({ project }: { project: Project }) {
  const draft = useProjectDraft(project, fieldsOf, changeOf);
  const { value, set, refused } = draft;
  const { data: me } = useQuery(meQuery);
  const [start] = value.start;
  const setStart = (change: Partial<StartStep>) =>
    set({ start: value.start.map((step) => ({ ...step, ...change })) });
  // What follows a stage applies only if the stage has a script, or a value was stored when it had one.
  const starts = hasScript(value.start) || Boolean(start?.healthCheck);
  const deploys = starts || hasScript(value.deploy);
  const steps = (stage: StageName) => ({
    stage,
    isAdmin: me?.role === "admin",
    errorOf: (path: string) => refused?.about(path),
  });
  return (
    <Panel id="stages" title={t("settings.stages")} about={t("stages.about")}>
      <form className="form" style={{ maxWidth: 820 }} onSubmit={draft.submit}>
        <Group title={t("stages.groupScripts")}>
          <StageSteps {...steps("build")} isList steps={value.build} onChange={(build) => set({ build })} />
          <StageSteps
            {...steps("deploy")}
            isList
            steps={value.deploy}
            onChange={(deploy) => set({ deploy })}
          />
          <StageSteps
            {...steps("start")}
            isList={false}
            steps={value.start}
            onChange={(changed) => set({ start: changed })}
          />
        </Group>
        {starts && start && (
          <Group title={t("stages.groupHealth")}>
            <HealthCheckFields
              value={start.healthCheck}
              onChange={(healthCheck) => setStart({ healthCheck })}
              errorOf={(field) => refused?.about(`pipeline.start.0.healthCheck.${field}`)}
            />
          </Group>
        )}
        {deploys && (
          <Group title={t("stages.groupRelease")}>
            {starts && start && (
              <StartSettings
                value={start}
                set={setStart}
                errorOf={(field) => refused?.about(`pipeline.start.0.${field}`)}
                isChecked={start.healthCheck !== null}
              />
            )}
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
            {(["data", "scratch"] as const).map((list) => (
              <TagsInput
                key={list}
                label={t(`stages.${list}`)}
                description={t(`stages.${list}Hint`)}
                value={value[list]}
                error={refused?.about(`pipeline.${list}`)}
                onChange={(folders) => set({ [list]: folders })}
              />
            ))}
            <Checkbox
              label={t("stages.sealed")}
              description={t("stages.sealedHint")}
              {...draft.flag("sealed")}
            />
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
    data: t("stages.data"),
    scratch: t("stages.scratch"),
    sealed: t("stages.sealed"),
    rollback: t("stages.rollback"),
    rule: t("stages.approval"),
  };
}
