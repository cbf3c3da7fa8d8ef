import { Switch } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAct } from "../../act.ts";
import { answerOf, api, ifMatch } from "../../api.ts";
import { Panel } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import { defaultNotifyQuery } from "../../default-notify-query.ts";
import { type ProjectChange, projectForm } from "../../project-query.ts";
import type { Project } from "../../shapes.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";
import { NotificationAttempts } from "./notification-attempts.tsx";
import { type EditedTarget, freshTarget, sentTarget, TargetCard } from "./notification-target.tsx";
import { ProjectKey } from "./project-key.tsx";
import { RowsForm } from "./rows-form.tsx";

/** Whether the default address of the installation receives the messages of this project too. */
function DefaultChoice({ project: { id, defaultNotify } }: { project: Project }) {
  const { data } = useQuery(defaultNotifyQuery);
  const choose = useAct(
    (chosen: boolean) =>
      answerOf(
        api.projects[":id"].$patch({ param: { id }, header: ifMatch(null), json: { defaultNotify: chosen } }),
      ),
    { done: t("form.saved"), refresh: ["project"] },
  );
  if (!data?.target) return null;
  return (
    <Switch
      mt="lg"
      label={t("notify.useDefault", { address: visible(data.target.url) })}
      description={t("notify.useDefaultHint")}
      checked={defaultNotify}
      onChange={(event) => choose.mutate(event.currentTarget.checked)}
    />
  );
}

/** Messages about tasks, deliveries and runners. */
export function NotificationSettings({ project }: { project: Project }) {
  const test = useAct(
    (targetId: string) =>
      answerOf(api.projects[":id"].notify[":targetId"].test.$post({ param: { id: project.id, targetId } })),
    { refresh: ["project"] },
  );
  return (
    <Panel title={t("settings.notifications")} about={t("notify.about")}>
      <RowsForm<EditedTarget, Project, ProjectChange>
        form={projectForm(project)}
        rowsOf={({ notify }) => notify}
        fresh={freshTarget}
        changeOf={(rows) => ({ notify: rows.map(sentTarget) })}
        faultOf={(_, index, refused) =>
          ["url", "secret", "id"].map((field) => refused?.about(`notify.${index}.${field}`)).find(Boolean)
        }
        addLabel={t("notify.add")}
        removeLabelOf={() => t("notify.remove")}
        failure={t("notify.notSaved")}
        label={t("notify.targets")}
        labels={{
          ...{ url: t("notify.address"), events: t("notify.events"), logLines: t("notify.logLines") },
          ...{ secret: t("notify.secret"), format: t("notify.format") },
        }}
        isUndoable={false}
        isWide
      >
        {(target, change, fault) => (
          <TargetCard
            target={target}
            change={change}
            fault={fault}
            onTest={target.id === undefined ? undefined : () => test.mutateAsync(target.id ?? "")}
          />
        )}
      </RowsForm>
      <DefaultChoice project={project} />
      {project.notify.some(({ format }) => format === "slipway") && (
        <ProjectKey projectId={project.id} kind="notify-key" />
      )}
      <ForManagers>
        <NotificationAttempts project={project} />
      </ForManagers>
    </Panel>
  );
}
