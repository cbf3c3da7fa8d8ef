import { Checkbox, NativeSelect, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link, useLocation } from "wouter";
import { useAct } from "../../act.ts";
import { answerOf, api, messageOf } from "../../api.ts";
import { ConfirmButton } from "../../components/confirm.tsx";
import { Members } from "../../components/members.tsx";
import { Panel } from "../../components/page.tsx";
import { ForManagers } from "../../components/permission.tsx";
import { hostHookQuery } from "../../host-hook-query.ts";
import { usePageActions } from "../../page-actions.ts";
import { projectForm } from "../../project-query.ts";
import type { Project } from "../../shapes.ts";
import { t } from "../../text/text.ts";
import { visible } from "../../visible.ts";
import { Connection, LoadedWebhook } from "../webhook/connection.tsx";
import { RulesPage } from "../webhook/rules-page.tsx";
import { CommitStatusSettings } from "./commit-status.tsx";
import { EnvironmentVariables } from "./environment-variables.tsx";
import { EnvironmentSettings } from "./environments.tsx";
import { ExecutionSettings } from "./execution.tsx";
import { InheritedValues } from "./inherited.tsx";
import { NotificationSettings } from "./notifications.tsx";
import { RepositorySettings } from "./repository.tsx";
import { SecretSettings } from "./secrets.tsx";
import { environmentSections, type SettingsSection, settingsSections } from "./sections.ts";
import { StageSettings } from "./stages.tsx";
import { VariableSettings } from "./variables.tsx";

export function ProjectSettings({ project, section: asked }: { project: Project; section: SettingsSection }) {
  const shown = sectionsOf(project);
  const section = shown.includes(asked) ? asked : (shown[0] ?? asked);
  return (
    <div className="settings">
      <Sections projectId={project.id} shown={shown} section={section} />
      <div className="stack">{contentOf(section, project)}</div>
    </div>
  );
}

/** Beside the section, or where there is no room as one select above it. */
function Sections({
  projectId,
  shown,
  section,
}: {
  projectId: number;
  shown: readonly SettingsSection[];
  section: SettingsSection;
}) {
  const [, go] = useLocation();
  const isNarrow = useMediaQuery("(max-width: 1000px)", false, { getInitialValueInEffect: false });
  const hrefOf = (name: string) => `/projects/${projectId}/settings/${name}`;
  if (isNarrow)
    return (
      <NativeSelect
        aria-label={t("settings.sections")}
        data={shown.map((name) => ({ value: name, label: t(`settings.${name}`) }))}
        value={section}
        onChange={(event) => go(hrefOf(event.currentTarget.value))}
      />
    );
  return (
    <nav className="settings-nav" aria-label={t("settings.sections")}>
      {shown.map((name) => (
        <Link
          key={name}
          href={hrefOf(name)}
          {...(name === section ? { "aria-current": "page" as const } : {})}
        >
          {t(`settings.${name}`)}
        </Link>
      ))}
    </nav>
  );
}

function sectionsOf({ parentId }: Project): readonly SettingsSection[] {
  return parentId === null ? settingsSections : environmentSections;
}

/** The sections as actions of each page of the project. */
export function useSettingsActions(project: Project): void {
  const { id, permission } = project;
  const [, go] = useLocation();
  usePageActions(
    (permission === "manage" ? sectionsOf(project) : []).map((section) => ({
      title: t("search.openSettings", { section: t(`settings.${section}`) }),
      run: () => go(`/projects/${id}/settings/${section}`),
    })),
  );
}

function contentOf(section: SettingsSection, project: Project): ReactNode {
  switch (section) {
    case "source":
      return (
        <>
          <RepositorySettings project={project} />
          <LoadedWebhook projectId={project.id}>
            {(webhook, arrival) => <Connection project={project} webhook={webhook} arrival={arrival} />}
          </LoadedWebhook>
          <ForManagers>
            <DeleteProject project={project} />
          </ForManagers>
        </>
      );
    case "rules":
      return <RulesPage project={project} />;
    case "pipeline":
      return (
        <>
          <StageSettings project={project} />
          <ExecutionSettings project={project} />
        </>
      );
    case "environments":
      return <EnvironmentSettings project={project} />;
    case "variables":
      return (
        <>
          {project.parentId === null ? (
            <VariableSettings form={projectForm(project)} about={t("variables.about")} />
          ) : (
            <EnvironmentVariables project={project} />
          )}
          <SecretSettings
            owner={{ of: "projects", id: project.id }}
            secrets={project.secrets}
            usual={project.deploy.approval === "required" ? "deploy" : "all"}
            about={t("variables.secretsAbout")}
          />
          {project.groupId !== null && <InheritedValues projectId={project.id} />}
        </>
      );
    case "access":
      return (
        <Panel title={t("settings.access")} about={t("settings.membersAbout")}>
          <Members of="projects" id={project.id} />
        </Panel>
      );
    case "notifications":
      return (
        <>
          <NotificationSettings project={project} />
          <CommitStatusSettings project={project} />
        </>
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
    refresh: ["projects", "home"],
  });
  return (
    <Panel id="delete" title={t("settings.delete")} about={t("settings.deleteAbout")}>
      <ConfirmButton
        label={t("settings.deleteProject")}
        title={t("settings.deleteQuestion", { name: project.name })}
        confirm={t("settings.deleteProject")}
        isDanger
        typed={project.name}
        onConfirm={async () => {
          await remove.mutateAsync(undefined);
          go("/");
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
