import { Alert, Group, Tabs, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "wouter";
import { given } from "../address.ts";
import { ConfirmButton } from "../components/confirm.tsx";
import { FormButton } from "../components/form-modal.tsx";
import { Icon } from "../components/icon.tsx";
import { Moment } from "../components/moment.tsx";
import { PageHead } from "../components/page.tsx";
import { Permitted } from "../components/permission.tsx";
import { LoadedPage } from "../components/query.tsx";
import { useLiveProjects, usePolling } from "../live.ts";
import { projectQuery } from "../project-query.ts";
import type { Project } from "../shapes.ts";
import { taskQuery, useRunProject } from "../task-query.ts";
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
    <LoadedPage query={project} title={`Project ${id}`} list={{ href: "/projects", label: "All projects" }}>
      {(loaded) => <ProjectView project={loaded} tab={tab} section={section} />}
    </LoadedPage>
  );
}

function ProjectView({ project, tab, section }: { project: Project; tab: string; section: SettingsSection }) {
  const [, go] = useLocation();
  return (
    <>
      <PageHead
        tab={project.name}
        title={<span className="foreign">{visible(project.name)}</span>}
        about={<LiveVersion project={project} />}
      >
        {project.permission === "manage" && <RunButton project={project} />}
      </PageHead>
      {project.permission === "view" && (
        <Text size="sm" className="note">
          You may look at this project. To run or change it, ask one of its managers for the permission
          “manage”.
        </Text>
      )}
      {Object.values(project.stages).every(({ script }) => script === "") && tab !== "settings" && (
        <Text size="sm" className="note">
          No stage has a script yet: a run would check the code out, and that is all.{" "}
          <Link href={`/projects/${project.id}/settings/stages`}>Say what its stages do.</Link>
        </Text>
      )}
      {project.liveNote !== "" && (
        <Alert variant="light" color="lamp" role="note" mb="md">
          {visible(project.liveNote)}
        </Alert>
      )}
      {project.permission === "manage" &&
        project.warnings.map((warning) => (
          <Text key={warning} size="sm" className="note">
            {visible(warning)} <Link href={`/projects/${project.id}/settings/stages`}>To its settings.</Link>
          </Text>
        ))}
      {project.sample && (
        <Text size="sm" className="note">
          This is a sample, to look around in. Run it again, break its scripts under Settings, and delete it
          there when you have seen enough: nothing of it stays behind.
        </Text>
      )}
      <Tabs
        value={tab}
        onChange={(chosen) => go(`/projects/${project.id}/${chosen ?? "tasks"}`)}
        keepMounted={false}
      >
        <Tabs.List mb="lg">
          <Tabs.Tab value="tasks">Tasks</Tabs.Tab>
          <Tabs.Tab value="releases">Releases</Tabs.Tab>
          <Tabs.Tab value="webhook">Webhook</Tabs.Tab>
          <Tabs.Tab value="deliveries">Deliveries</Tabs.Tab>
          <Tabs.Tab value="settings">Settings</Tabs.Tab>
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
  const task = useQuery({ ...taskQuery(project.liveTaskId ?? 0), enabled: project.liveTaskId !== null });
  if (project.liveTaskId === null)
    return (
      <>
        {project.liveNote === "" ? "Nothing of it is live yet." : "Nothing is known to be serving."} Builds{" "}
        {visible(shortRef(project.git.ref))}.
      </>
    );
  if (task.data === undefined) return <>&nbsp;</>;
  const { ref, commit, finishedAt } = task.data;
  return (
    <>
      Live: {visible(shortRef(ref))} <code>{visible(shortCommit(commit))}</code>
      {finishedAt !== null && (
        <>
          {" "}
          since <Moment at={finishedAt} />
        </>
      )}
    </>
  );
}

function RunButton({ project }: { project: Project }) {
  const run = useRunProject(project.id);
  return (
    <Group gap={6}>
      <ConfirmButton
        variant="filled"
        label={`Run ${visible(shortRef(project.git.ref))}`}
        leftSection={<Icon name="play" size={14} />}
        title={t("form.deployQuestion", { project: project.name })}
        confirm={t("form.deployConfirm")}
        onConfirm={() => run.mutateAsync({})}
      >
        {t("form.deployHint", { ref: visible(shortRef(project.git.ref)) })}
      </ConfirmButton>
      <FormButton
        title="Run another version"
        submit="Run it"
        button={{ variant: "default" }}
        initial={{ ref: "", commit: "" }}
        onSubmit={(version) => run.mutateAsync(given(version))}
      >
        {({ text }) => (
          <>
            <TextInput
              label="Branch or tag"
              placeholder={visible(shortRef(project.git.ref))}
              data-autofocus
              {...text("ref")}
            />
            <TextInput
              label="Commit"
              description="Empty: the tip. An earlier one of the branch rolls back to it."
              className="script"
              {...text("commit")}
            />
          </>
        )}
      </FormButton>
    </Group>
  );
}
