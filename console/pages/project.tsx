import { Tabs, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { useAddressFilters } from "../address.ts";
import { DeployButton } from "../components/deploy-button.tsx";
import { Moment } from "../components/moment.tsx";
import { PageHead } from "../components/page.tsx";
import { Permitted } from "../components/permission.tsx";
import { ProjectNotes } from "../components/project-notes.tsx";
import { LoadedPage } from "../components/query.tsx";
import { SampleSteps } from "../components/sample-steps.tsx";
import { ServiceList } from "../components/service-list.tsx";
import { ServicePanel } from "../components/service-panel.tsx";
import { useLiveProjects, usePolling } from "../live.ts";
import { projectQuery } from "../project-query.ts";
import { releasesQuery } from "../release-query.ts";
import type { Project } from "../shapes.ts";
import { reasonIn } from "../text/reason-text.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { shortCommit, shortRef } from "../time-text.ts";
import { visible } from "../visible.ts";
import { DeliveryList } from "./deliveries.tsx";
import { Releases } from "./releases.tsx";
import type { SettingsSection } from "./settings/sections.ts";
import { ProjectSettings } from "./settings/settings.tsx";
import { TaskList } from "./tasks.tsx";
import { WebhookPage } from "./webhook/webhook.tsx";

export default function ProjectPage({
  id,
  tab,
  section,
}: {
  id: number;
  tab: string;
  section: SettingsSection;
}) {
  useLiveProjects([id]);
  const refetchInterval = usePolling();
  const project = useQuery({ ...projectQuery(id), refetchInterval });
  return (
    <LoadedPage
      query={project}
      title={t("project.unnamed", { id: String(id) })}
      list={{ href: "/projects", label: t("project.allProjects") }}
    >
      {(loaded) => <ProjectView project={loaded} tab={tab} section={section} />}
    </LoadedPage>
  );
}

function ProjectView({ project, tab, section }: { project: Project; tab: string; section: SettingsSection }) {
  const [, go] = useLocation();
  const [{ deploy }, change] = useAddressFilters(["deploy"]);
  // Not after the page was left for the new task: that would lead back here.
  const answered = () => {
    if (new URLSearchParams(location.search).has("deploy")) change({ deploy: "" });
  };
  return (
    <>
      <PageHead
        tab={project.name}
        title={<span className="foreign">{visible(project.name)}</span>}
        {...(tab === "tasks" ? {} : { about: <LiveVersion project={project} /> })}
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
      {tab === "tasks" && <ServiceList project={project} />}
      {tab === "tasks" && <ServicePanel project={project} />}
      {tab === "tasks" && project.sample && <SampleSteps project={project} />}
      <ProjectNotes project={project} tab={tab} />
      <Tabs
        value={tab}
        onChange={(chosen) => go(`/projects/${project.id}/${chosen ?? "tasks"}`)}
        keepMounted={false}
      >
        <Tabs.List mb="lg">
          <Tabs.Tab value="tasks">{t("project.tasks")}</Tabs.Tab>
          <Tabs.Tab value="releases">{t("project.releases")}</Tabs.Tab>
          <Tabs.Tab value="webhook">{t("project.webhook")}</Tabs.Tab>
          <Tabs.Tab value="deliveries">{t("project.deliveries")}</Tabs.Tab>
          <Tabs.Tab value="settings">{t("project.settings")}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="tasks">
          <TaskList projectId={project.id} />
        </Tabs.Panel>
        <Tabs.Panel value="releases">
          <Releases project={project} />
        </Tabs.Panel>
        <Tabs.Panel value="webhook">
          <Permitted permission={project.permission}>
            <WebhookPage project={project} />
          </Permitted>
        </Tabs.Panel>
        <Tabs.Panel value="deliveries">
          <DeliveryList projectId={project.id} />
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

/** What runs out there now. */
function LiveVersion({ project }: { project: Project }) {
  const releases = useQuery({ ...releasesQuery(project.id), enabled: project.liveTaskId !== null });
  if (project.liveTaskId === null)
    return project.liveNote === ""
      ? t("project.neverServed", { ref: visible(shortRef(project.git.ref)) })
      : reasonIn(project.liveNote, project.liveNoteParts);
  const serving = releases.data?.items.find(({ isLive }) => isLive);
  if (serving === undefined) return "\u00a0";
  return rich("project.servingSince", {
    ref: visible(shortRef(serving.ref)),
    commit: <code>{visible(shortCommit(serving.commit))}</code>,
    since: <Moment at={serving.deployedAt} />,
  });
}
