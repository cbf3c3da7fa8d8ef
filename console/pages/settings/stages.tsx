import { NumberInput, Group as Row, Select, TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import { Panel } from "../../components/page.tsx";
import { FormFoot } from "../../components/save-bar.tsx";
import { ScriptEditor } from "../../components/script-editor.tsx";
import { type ProjectChange, useProjectDraft } from "../../project-query.ts";
import type { Project } from "../../shapes.ts";
import { t } from "../../text/text.ts";
import { ApprovalFields } from "./approval.tsx";
import { type HealthCheck, HealthCheckFields } from "./health-check.tsx";
import { type StartFields, StartSettings } from "./start.tsx";

const names = ["build", "deploy", "start"] as const;

const examples = {
  build: "npm ci\nnpm run build",
  deploy: 'rsync -a --delete dist/ "$DEPLOY_HOST":/srv/shop/',
  start: 'ssh "$DEPLOY_HOST" systemctl restart shop',
} as const;

type StageName = (typeof names)[number];
export type Stages = NonNullable<Project["stages"]>;

/** The fields of all stages as one flat object, so that each can change and conflict separately. */
type StageFields = Record<`${StageName}Script` | `${StageName}Folder`, string> &
  Record<`${StageName}TimeLimit`, number | null> & {
    healthCheck: HealthCheck;
    rollback: Project["rollback"];
    deploy: Project["deploy"];
  } & StartFields;

function stagesOf({ rollback, deploy: rule, stages }: Project): StageFields {
  const { build, deploy, start } = stages as Stages;
  return {
    buildScript: build.script,
    buildFolder: build.directory ?? "",
    buildTimeLimit: build.timeout,
    deployScript: deploy.script,
    deployFolder: deploy.directory ?? "",
    deployTimeLimit: deploy.timeout,
    startScript: start.script,
    startFolder: start.directory ?? "",
    startTimeLimit: start.timeout,
    rollback,
    deploy: rule,
    healthCheck: start.healthCheck,
    previous: start.previous,
    settleSeconds: start.settleSeconds,
    log: start.log,
    switch: start.switch,
  };
}

function changeOf(changes: Partial<StageFields>): ProjectChange {
  const stage = (name: StageName) => ({
    script: changes[`${name}Script`],
    directory: changes[`${name}Folder`],
    timeout: changes[`${name}TimeLimit`],
  });
  const { healthCheck, previous, settleSeconds, log } = changes;
  const start = {
    ...stage("start"),
    ...{ healthCheck, previous, settleSeconds, log },
    switch: changes.switch,
  };
  return {
    rollback: changes.rollback,
    deploy: changes.deploy,
    stages: { build: stage("build"), deploy: stage("deploy"), start },
  };
}

export function StageSettings({ project }: { project: Project }) {
  const draft = useProjectDraft(project, stagesOf, changeOf);
  const { value, set, text, refused } = draft;
  // What follows a stage applies only if the stage has a script, or a value was stored when it had one.
  const starts = value.startScript.trim() !== "" || value.healthCheck !== null;
  const deploys = starts || value.deployScript.trim() !== "";
  const titles = { build: t("stages.build"), deploy: t("stages.deploy"), start: t("stages.start") };
  const about = {
    build: t("stages.buildHint"),
    deploy: t("stages.deployHint"),
    start: t("stages.startHint"),
  };
  return (
    <Panel id="stages" title={t("settings.stages")} about={t("stages.about")}>
      <form className="form" style={{ maxWidth: 820 }} onSubmit={draft.submit}>
        <Group title={t("stages.groupScripts")}>
          {names.map((name) => (
            <div key={name} className="script">
              <ScriptEditor
                label={titles[name]}
                description={about[name]}
                placeholder={examples[name]}
                {...text(`${name}Script`, `stages.${name}.script`)}
              />
              <Row gap={8} mt={8}>
                <TextInput
                  size="xs"
                  style={{ flex: "1 1 220px" }}
                  label={t("stages.folder")}
                  aria-label={t("stages.folderOf", { stage: titles[name] })}
                  placeholder={t("stages.folderRoot")}
                  {...text(`${name}Folder`, `stages.${name}.directory`)}
                />
                <NumberInput
                  size="xs"
                  style={{ flex: "1 1 220px" }}
                  label={t("stages.timeLimit")}
                  aria-label={t("stages.timeLimitOf", { stage: titles[name] })}
                  placeholder={t("stages.timeLimitTask")}
                  suffix=" s"
                  min={1}
                  value={value[`${name}TimeLimit`] ?? ""}
                  error={refused?.about(`stages.${name}.timeout`)}
                  onChange={(timeout) =>
                    set({ [`${name}TimeLimit`]: timeout === "" ? null : Number(timeout) })
                  }
                />
              </Row>
            </div>
          ))}
        </Group>
        {starts && (
          <Group title={t("stages.groupHealth")}>
            <HealthCheckFields
              value={value.healthCheck}
              onChange={(healthCheck) => set({ healthCheck })}
              errorOf={(field) => refused?.about(`stages.start.healthCheck.${field}`)}
            />
          </Group>
        )}
        {deploys && (
          <Group title={t("stages.groupRelease")}>
            {starts && <StartSettings draft={draft} isChecked={value.healthCheck !== null} />}
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
          </Group>
        )}
        {(deploys || value.deploy.approval === "required") && (
          <Group title={t("stages.groupApproval")}>
            <ApprovalFields value={value.deploy} onChange={(deploy) => set({ deploy })} />
          </Group>
        )}
        <FormFoot draft={draft} failure={t("stages.notSaved")} labels={labelsOf(titles)} />
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
function labelsOf(titles: Record<StageName, string>): Record<keyof StageFields, string> {
  const { build, deploy, start } = titles;
  return {
    buildScript: t("stages.scriptOf", { stage: build }),
    buildFolder: t("stages.folderOf", { stage: build }),
    buildTimeLimit: t("stages.timeLimitOf", { stage: build }),
    deployScript: t("stages.scriptOf", { stage: deploy }),
    deployFolder: t("stages.folderOf", { stage: deploy }),
    deployTimeLimit: t("stages.timeLimitOf", { stage: deploy }),
    startScript: t("stages.scriptOf", { stage: start }),
    startFolder: t("stages.folderOf", { stage: start }),
    startTimeLimit: t("stages.timeLimitOf", { stage: start }),
    healthCheck: t("stages.health"),
    rollback: t("stages.rollback"),
    deploy: t("stages.approval"),
    previous: t("stages.previous"),
    settleSeconds: t("stages.settle"),
    log: t("stages.log"),
    switch: t("stages.switch"),
  };
}
