import { Select } from "@mantine/core";
import { Link, useLocation } from "wouter";
import { useAddressFilters } from "../address.ts";
import { useAllProjects } from "../all-projects.ts";
import { answerOf, api } from "../api.ts";
import { List } from "../components/list.tsx";
import { Empty, PageHead } from "../components/page.tsx";
import { Cause, Commit, TaskState, TaskTimes, Waiting } from "../components/task-parts.tsx";
import { useListPage } from "../list-page.ts";
import { usePolling, whileWaiting } from "../live.ts";
import type { Task } from "../shapes.ts";

const states: Task["state"][] = [
  "queued",
  "dispatched",
  "running",
  "canceling",
  "waiting",
  "success",
  "failed",
  "canceled",
  "timeout",
  "lost",
];

export default function Tasks() {
  const { nameOf, isCovered } = useAllProjects();
  return (
    <>
      <PageHead title="Tasks" about="Every build and deploy, newest first." />
      <TaskList nameOf={nameOf} isCovered={isCovered} />
    </>
  );
}

/** Tasks of one project, or of all with the name of each. */
export function TaskList({
  projectId,
  nameOf,
  isCovered = true,
}: {
  projectId?: number;
  nameOf?: (projectId: number) => string;
  /** Whether the live connection tells of every task. */
  isCovered?: boolean;
}) {
  const [filters, change] = useAddressFilters(["state"]);
  const state = states.find((each) => each === filters.state);
  const [, go] = useLocation();
  const polling = usePolling(isCovered);
  const query = useListPage(
    ["tasks", projectId ?? "all", filters],
    (page) =>
      answerOf(
        api.tasks.$get({
          query: {
            page,
            pageSize: 20,
            ...(state === undefined ? {} : { state }),
            ...(projectId === undefined ? {} : { projectId }),
          },
        }),
      ),
    { refetchInterval: ({ state: { data } }) => whileWaiting(data?.items ?? [], polling) },
  );
  return (
    <>
      <div className="filters">
        <Select
          label="State"
          placeholder="any"
          clearable
          data={states}
          value={filters.state || null}
          onChange={(state) => change({ state: state ?? "" })}
        />
      </div>
      <List
        label="Tasks"
        query={query}
        onOpen={(task) => go(`/tasks/${task.id}`)}
        empty={
          filters.state === "" ? (
            <Empty title="Nothing has run yet">
              Run the project by hand, or point your Git host at its webhook and push a commit.
            </Empty>
          ) : (
            <Empty title={`No task is ${filters.state}`}>Clear the filter to see the others.</Empty>
          )
        }
        columns={[
          { title: "Task", cell: (task) => <TaskState task={task} /> },
          ...(nameOf
            ? [
                {
                  title: "Project",
                  cell: (task: Task) => (
                    <Link
                      href={`/projects/${task.projectId}`}
                      className="foreign"
                      onClick={(event) => event.stopPropagation()}
                    >
                      {nameOf(task.projectId)}
                    </Link>
                  ),
                },
              ]
            : []),
          {
            title: "Commit",
            cell: (task) => (
              <>
                <Commit task={task} />
                <Waiting task={task} />
              </>
            ),
            isWhole: true,
          },
          { title: "Cause", cell: (task) => <Cause task={task} />, visibleFrom: "lg" },
          { title: "When", cell: (task) => <TaskTimes task={task} /> },
          { title: "No.", cell: (task) => <span className="figures">{task.id}</span>, visibleFrom: "md" },
        ]}
      />
    </>
  );
}
