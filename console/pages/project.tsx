import { Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { useAddressFilters } from "../address.ts";
import { ActivityList } from "../components/activity/list.tsx";
import { DeployButton } from "../components/deploy-button.tsx";
import { EnvironmentSwitch } from "../components/environment-switch.tsx";
import { Environments } from "../components/environments.tsx";
import { LastChanges } from "../components/last-changes.tsx";
import { Moment } from "../components/moment.tsx";
import { PageHead, ProjectTrail } from "../components/page.tsx";
import { Permitted } from "../components/permission.tsx";
import { ProjectNotes } from "../components/project-notes.tsx";
import { LoadedPage } from "../components/query.tsx";
import { SampleSteps } from "../components/sample-steps.tsx";
import { ServiceList } from "../components/service-list.tsx";
import { ServicePanel } from "../components/service-panel.tsx";
import { useLiveProjects, usePolling } from "../live.ts";
import { projectQuery } from "../project-query.ts";
import { type ProjectTab, projectTabs } from "../project-tabs.ts";
import { knownProjectName, useRecent } from "../recent.ts";
import { releasesQuery } from "../release-query.ts";
import { servingOf } from "../serving.ts";
import type { Project } from "../shapes.ts";
import { reasonIn } from "../text/reason-text.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { shortCommit, shortRef } from "../time-text.ts";
import { visible } from "../visible.ts";
import { Releases } from "./releases.tsx";
import type { SettingsSection } from "./settings/sections.ts";
import { ProjectSettings, useSettingsActions } from "./settings/settings.tsx";

interface Shown {
  tab: ProjectTab;
  section: SettingsSection;
}

export default function ProjectPage({ id, ...shown }: { id: number } & Shown) {
  useLiveProjects([id]);
  const refetchInterval = usePolling();
  const project = useQuery({ ...projectQuery(id), refetchInterval });
  return (
    <LoadedPage
      query={project}
      title={visible(knownProjectName(id) ?? t("project.unnamed", { id: String(id) }))}
      list={{ href: "/", label: t("home.title") }}
    >
      {(loaded) => <ProjectView project={loaded} {...shown} />}
    </LoadedPage>
  );
}

function ProjectView({ project, tab, section }: { project: Project } & Shown) {
  const [, go] = useLocation();
  const [{ deploy }, change] = useAddressFilters(["deploy"]);
  const hasEnvironments = project.environments.length > 0 || project.parentId !== null;
  useRecent(`/projects/${project.id}`, project.name);
  useSettingsActions(project);
  // Not after the page was left for the new task: that would lead back here.
  const answered = () => {
    if (new URLSearchParams(location.search).has("deploy")) change({ deploy: "" });
  };
  return (
    <>
      <PageHead
        {...(tab === "overview"
          ? { tab: project.name, title: <ProjectTitle project={project} /> }
          : { title: t(`project.${tab}`), project, about: <LiveVersion project={project} /> })}
      >
        {project.permission === "manage" && (
          <DeployButton project={project} isAsked={deploy !== ""} onAnswered={answered} />
        )}
      </PageHead>
      {project.permission === "view" && (
        <Text size="sm" className="note">
          {t("project.viewOnly")}
        </Text>
      )}
      {project.parentId !== null && (
        <EnvironmentSwitch projectId={project.parentId} environmentId={project.id} tab={tab} />
      )}
      <Tabs
        value={tab}
        onChange={(chosen) =>
          go(`/projects/${project.id}${chosen === null || chosen === "overview" ? "" : `/${chosen}`}`)
        }
        keepMounted={false}
      >
        <Tabs.List mb="lg" className="page-tabs">
          {projectTabs.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {t(`project.${name}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="overview">
          <ProjectNotes project={project} />
          <Environments project={project} />
          <ServiceList project={project} />
          {project.environments.length === 0 && <ServicePanel project={project} />}
          {project.sample && <SampleSteps project={project} />}
          <LastChanges project={project} />
        </Tabs.Panel>
        <Tabs.Panel value="activity">
          <ActivityList projectId={project.parentId ?? project.id} hasEnvironments={hasEnvironments} />
        </Tabs.Panel>
        <Tabs.Panel value="releases">
          <Releases project={project} />
        </Tabs.Panel>
        <Tabs.Panel value="settings">
          <Permitted permission={project.permission}>
            <ProjectSettings project={project} section={section} />
          </Permitted>
        </Tabs.Panel>
      </Tabs>
    </>
  );
}

/** An environment leads to its project. */
function ProjectTitle({ project }: { project: Project }) {
  if (project.parentId !== null) return <ProjectTrail {...project} />;
  return <span className="foreign">{visible(project.name)}</span>;
}

/** What runs out there now. */
function LiveVersion({ project }: { project: Project }) {
  const releases = useQuery({ ...releasesQuery(project.id), enabled: project.liveTaskId !== null });
  if (project.environments.length > 0)
    return t("environments.servesIn", {
      names: project.environments.map(({ name }) => name).join(t("words.listSeparator")),
    });
  if (project.liveTaskId === null)
    return project.liveNote === ""
      ? t("project.neverServed", { ref: visible(shortRef(project.git.ref)) })
      : reasonIn(project.liveNote, project.liveNoteParts);
  const serving = releases.data?.items.find(({ isLive }) => isLive);
  if (serving === undefined) return "\u00a0";
  return rich(servingOf(project, serving) === "serving" ? "project.servingSince" : "project.deployedSince", {
    ref: visible(shortRef(serving.ref)),
    commit: <code>{visible(shortCommit(serving.commit))}</code>,
    since: <Moment at={serving.deployedAt} />,
  });
}
