import { Button, TextInput } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { given, useAddressFilters } from "../address.ts";
import { answerOf, api } from "../api.ts";
import { ConfirmButton } from "../components/confirm.tsx";
import { Icon } from "../components/icon.tsx";
import { List } from "../components/list.tsx";
import { Moment } from "../components/moment.tsx";
import { Empty, PageHead } from "../components/page.tsx";
import { TaskState } from "../components/task-parts.tsx";
import { TryIt } from "../components/try-it.tsx";
import { useGroups } from "../group-query.ts";
import { useListPage } from "../list-page.ts";
import { untilFilled, useLiveProjects, usePolling } from "../live.ts";
import { meQuery } from "../session.ts";
import type { Group, Project, Task } from "../shapes.ts";
import { useRunProject } from "../task-query.ts";
import { t } from "../text/text.ts";
import { shortCommit, shortRef } from "../time-text.ts";
import { visible } from "../visible.ts";
import { AddProject } from "./add-project.tsx";

export default function Projects() {
  const [filters, change] = useAddressFilters(["search", "groupId", "add"]);
  const { search, groupId } = filters;
  const { data: me } = useQuery(meQuery);
  const isAdmin = me?.role === "admin";
  const groups = useGroups().filter(isManaged);
  const mayAdd = isAdmin || groups.length > 0;
  const refetchInterval = usePolling();
  const query = useListPage(
    ["projects", search, groupId],
    (page) => answerOf(api.projects.$get({ query: { page, ...given({ search, groupId }) } })),
    { refetchInterval: untilFilled(refetchInterval) },
  );
  const items = query.data?.items ?? [];
  const ids = items.map((project) => project.id);
  useLiveProjects(ids);
  const tasks = useProjectTasks(ids);
  const isEmpty = query.data?.total === 0 && search === "" && groupId === "";
  return (
    <>
      <PageHead title="Projects" about="What you deploy: the last task of each, and what is live.">
        {mayAdd && (
          <Button leftSection={<Icon name="plus" size={16} />} onClick={() => change({ add: "1" })}>
            Add a project
          </Button>
        )}
      </PageHead>
      {isEmpty ? (
        <TryIt isAdmin={isAdmin} />
      ) : (
        <>
          <div className="filters">
            <TextInput
              label="Name"
              placeholder="part of it"
              type="search"
              value={search}
              onChange={(event) => change({ search: event.currentTarget.value })}
            />
            {groupId !== "" && (
              <Button variant="subtle" onClick={() => change({ groupId: "" })}>
                All groups
              </Button>
            )}
          </div>
          <List
            label="Projects"
            query={query}
            empty={<Empty title="No such project">Look for another part of the name.</Empty>}
            columns={[
              { title: "Project", cell: (project) => <Name project={project} /> },
              {
                title: "Last task",
                cell: (project) => <LastTask task={tasks.get(project.id)?.last ?? null} />,
              },
              { title: "Live", cell: (project) => <LiveTask task={tasks.get(project.id)?.live ?? null} /> },
              {
                title: "Repository",
                cell: (project) => (
                  <span className="cut mono repository" title={visible(project.git.url)}>
                    {visible(project.git.url)}
                  </span>
                ),
                visibleFrom: "lg",
              },
              ...(items.some(isManaged)
                ? [
                    {
                      title: "Actions",
                      cell: (project: Project) => isManaged(project) && <Run project={project} />,
                    },
                  ]
                : []),
            ]}
          />
        </>
      )}
      <AddProject isOpen={mayAdd && filters.add !== ""} groupId={groupId} />
    </>
  );
}

function isManaged({ permission }: Pick<Project | Group, "permission">): boolean {
  return permission === "manage";
}

interface ProjectTasks {
  last: Task | null;
  live: Task | null;
}

/** The last and the live task of each project on the page, in one request. */
function useProjectTasks(ids: number[]): Map<number, ProjectTasks> {
  const projectIds = ids.join(",");
  const refetchInterval = usePolling();
  const query = useQuery({
    queryKey: ["tasks", "of-projects", projectIds],
    queryFn: () => answerOf(api["project-tasks"].$get({ query: { projectIds } })),
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
    refetchInterval,
  });
  return new Map((query.data?.items ?? []).map(({ projectId, last, live }) => [projectId, { last, live }]));
}

function Name({ project }: { project: Project }) {
  return (
    <>
      <Link href={`/projects/${project.id}`} className="foreign strong">
        {visible(project.name)}
      </Link>
      {project.sample && <span className="dim"> sample</span>}
    </>
  );
}

function LastTask({ task }: { task: Task | null }) {
  if (task === null) return <span className="dim">none yet</span>;
  return (
    <>
      <TaskState task={task} />
      <div className="dim small">
        <Moment at={task.createdAt} />
      </div>
    </>
  );
}

function LiveTask({ task }: { task: Task | null }) {
  if (task === null) return <span className="dim">nothing</span>;
  return (
    <>
      <span className="foreign">{visible(shortRef(task.ref))}</span>{" "}
      <code>{visible(shortCommit(task.commit))}</code>
      {task.finishedAt !== null && (
        <div className="dim small">
          <Moment at={task.finishedAt} />
        </div>
      )}
    </>
  );
}

function Run({ project }: { project: Project }) {
  const run = useRunProject(project.id);
  return (
    <ConfirmButton
      size="compact-sm"
      label="Run"
      leftSection={<Icon name="play" size={12} />}
      aria-label={`Run ${visible(project.name)}`}
      title={t("form.deployQuestion", { project: project.name })}
      confirm={t("form.deployConfirm")}
      onConfirm={() => run.mutateAsync({})}
    >
      {t("form.deployHint", { ref: visible(shortRef(project.git.ref)) })}
    </ConfirmButton>
  );
}
