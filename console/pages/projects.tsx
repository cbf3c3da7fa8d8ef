import { Button, TextInput } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { given, useAddressFilters } from "../address.ts";
import { answerOf, api } from "../api.ts";
import { DeployButton } from "../components/deploy-button.tsx";
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
      <PageHead title={t("project.projects")} about={t("project.projectsAbout")}>
        {mayAdd && (
          <Button leftSection={<Icon name="plus" size={16} />} onClick={() => change({ add: "1" })}>
            {t("project.add")}
          </Button>
        )}
      </PageHead>
      {isEmpty ? (
        <TryIt isAdmin={isAdmin} />
      ) : (
        <>
          <div className="filters">
            <TextInput
              label={t("project.nameFilter")}
              placeholder={t("project.nameFilterHint")}
              type="search"
              value={search}
              onChange={(event) => change({ search: event.currentTarget.value })}
            />
            {groupId !== "" && (
              <Button variant="subtle" onClick={() => change({ groupId: "" })}>
                {t("project.allGroups")}
              </Button>
            )}
          </div>
          <List
            label={t("project.projects")}
            query={query}
            empty={<Empty title={t("project.noMatch")}>{t("project.noMatchHint")}</Empty>}
            columns={[
              { title: t("project.column"), cell: (project) => <Name project={project} /> },
              {
                title: t("project.lastTask"),
                cell: (project) => <LastTask task={tasks.get(project.id)?.last ?? null} />,
              },
              {
                title: t("project.serving"),
                cell: (project) => (
                  <LiveTask task={tasks.get(project.id)?.live ?? null} note={project.liveNote} />
                ),
              },
              {
                title: t("project.repository"),
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
                      title: t("words.actions"),
                      cell: (project: Project) =>
                        isManaged(project) && (
                          <DeployButton project={project} isShort size="compact-sm" variant="default" />
                        ),
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
      {project.sample && <span className="dim"> {t("project.sample")}</span>}
    </>
  );
}

function LastTask({ task }: { task: Task | null }) {
  if (task === null) return <span className="dim">{t("project.noTask")}</span>;
  return (
    <>
      <TaskState task={task} />
      <div className="dim small">
        <Moment at={task.createdAt} />
      </div>
    </>
  );
}

function LiveTask({ task, note }: { task: Task | null; note: string }) {
  if (task === null)
    return (
      <span className="dim">{t(note === "" ? "project.nothingServes" : "overview.servingUnknown")}</span>
    );
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
