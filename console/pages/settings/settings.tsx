import { Checkbox, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link, useLocation } from "wouter";
import { useAct } from "../../act.ts";
import { answerOf, api, messageOf } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { Members } from "../../components/members.tsx";
import { Panel } from "../../components/page.tsx";
import { ForManagers, useMayManage } from "../../components/permission.tsx";
import { hostHookQuery } from "../../host-hook-query.ts";
import type { Project } from "../../shapes.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";
import { CommitStatusSettings } from "./commit-status.tsx";
import { ExecutionSettings } from "./execution.tsx";
import { NotificationSettings } from "./notifications.tsx";
import { RepositorySettings } from "./repository.tsx";
import { SecretSettings } from "./secrets.tsx";
import { type SettingsSection, settingsSections } from "./sections.ts";
import { StageSettings } from "./stages.tsx";
import { EnvironmentSettings } from "./variables.tsx";

export function ProjectSettings({ project, section }: { project: Project; section: SettingsSection }) {
  const mayManage = useMayManage();
  const shown = settingsSections.filter((name) => mayManage || name !== "delete");
  const titles = sectionTitles();
  return (
    <div className="settings">
      <nav className="settings-nav" aria-label={t("settings.sections")}>
        {shown.map((name) => (
          <Link
            key={name}
            href={`/projects/${project.id}/settings/${name}`}
            {...(name === section ? { "aria-current": "page" as const } : {})}
          >
            {titles[name]}
          </Link>
        ))}
      </nav>
      <div className="stack">{contentOf(section, project)}</div>
    </div>
  );
}

function sectionTitles(): Record<SettingsSection, string> {
  return {
    general: t("settings.general"),
    stages: t("settings.stages"),
    variables: t("settings.variables"),
    execution: t("settings.execution"),
    members: t("settings.members"),
    notifications: t("settings.notifications"),
    "commit-status": t("settings.commitStatus"),
    delete: t("settings.delete"),
  };
}

function contentOf(section: SettingsSection, project: Project): ReactNode {
  switch (section) {
    case "general":
      return <RepositorySettings project={project} />;
    case "stages":
      return <StageSettings project={project} />;
    case "variables":
      return (
        <>
          <EnvironmentSettings project={project} />
          <SecretSettings project={project} />
        </>
      );
    case "execution":
      return <ExecutionSettings project={project} />;
    case "members":
      return (
        <Panel title={t("settings.members")} about={t("settings.membersAbout")}>
          <Members of="projects" id={project.id} />
        </Panel>
      );
    case "notifications":
      return <NotificationSettings project={project} />;
    case "commit-status":
      return <CommitStatusSettings project={project} />;
    case "delete":
      return (
        <ForManagers>
          <DeleteProject project={project} />
        </ForManagers>
      );
  }
}

function DeleteProject({ project }: { project: Project }) {
  const [, go] = useLocation();
  const param = { id: project.id };
  const hook = useQuery(hostHookQuery(project.id)).data?.hook ?? null;
  const [deletesHook, setDeletesHook] = useState(true);
  const deleteAll = async () => {
    if (hook?.isChecked && deletesHook)
      await answerOf(api.projects[":id"]["host-hook"].$delete({ param, query: {} })).catch((problem) => {
        throw new Error(`${messageOf(problem)} ${t("hostHook.deleteAnyway")}`);
      });
    await answerOf(api.projects[":id"].$delete({ param }));
  };
  const remove = useAct(deleteAll, {
    done: t("settings.deleted", { name: project.name }),
    refresh: ["projects"],
  });
  return (
    <Panel title={t("settings.delete")} about={t("settings.deleteAbout")}>
      <ConfirmButton
        label={t("settings.deleteProject")}
        title={t("settings.deleteQuestion", { name: project.name })}
        confirm={t("settings.deleteProject")}
        isDanger
        typed={project.name}
        onConfirm={async () => {
          await remove.mutateAsync(undefined);
          go("/projects");
        }}
      >
        {t("settings.deleteHint")}
        {hook?.isChecked === false && (
          <Text size="sm" mt="sm">
            {t("hostHook.staysThere", { origin: visible(hook.origin) })}
          </Text>
        )}
        {hook?.isChecked && (
          <Checkbox
            mt="sm"
            label={t("hostHook.alsoDelete", { origin: visible(hook.origin) })}
            checked={deletesHook}
            onChange={(event) => setDeletesHook(event.currentTarget.checked)}
          />
        )}
      </ConfirmButton>
    </Panel>
  );
}
