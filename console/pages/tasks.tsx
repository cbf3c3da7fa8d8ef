import { Select, TextInput } from "@mantine/core";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { useAddressFilters } from "../address.ts";
import { useAllProjects } from "../all-projects.ts";
import { answerOf, api } from "../api.ts";
import { FilterBar } from "../components/filter-bar.tsx";
import { List } from "../components/list.tsx";
import { Empty, PageHead } from "../components/page.tsx";
import { ProjectPicker } from "../components/project-picker.tsx";
import { TaskMarks } from "../components/task-marks.tsx";
import { Cause, Commit, TaskState, TaskTimes, Waiting } from "../components/task-parts.tsx";
import { useLastFilters } from "../last-filters.ts";
import { useListPage } from "../list-page.ts";
import { usePolling, whileWaiting } from "../live.ts";
import type { Task } from "../shapes.ts";
import {
  type TaskFilters,
  taskFilterNames,
  taskQueryOf,
  taskStates,
  taskTriggers,
  taskWords,
} from "../task-filters.ts";
import { t } from "../text/text.ts";
import { shortRef } from "../time-text.ts";
import { visible } from "../visible.ts";

export default function Tasks() {
  const { isCovered } = useAllProjects();
  const { isReady, keep } = useLastFilters("tasks");
  return (
    <>
      <PageHead title={t("tasks.title")} about={t("tasks.about")} />
      {isReady && <TaskList isCovered={isCovered} onFilter={keep} />}
    </>
  );
}

/** Tasks of one project, or of all with the name of each. */
export function TaskList({
  projectId,
  isCovered = true,
  onFilter,
}: {
  projectId?: number;
  /** Whether the live connection reports every task. */
  isCovered?: boolean;
  onFilter?: (filters: TaskFilters) => void;
}) {
  const [filters, changeAddress] = useAddressFilters(taskFilterNames);
  const change = (values: Partial<TaskFilters>) => {
    changeAddress(values);
    onFilter?.({ ...filters, ...values });
  };
  const [, go] = useLocation();
  const polling = usePolling(isCovered);
  const asked = taskQueryOf(projectId === undefined ? filters : { ...filters, projectId: String(projectId) });
  const query = useListPage(
    ["tasks", asked],
    (page) => answerOf(api.tasks.$get({ query: { page, pageSize: 20, ...asked } })),
    { refetchInterval: ({ state: { data } }) => whileWaiting(data?.items ?? [], polling) },
  );
  const isFiltered = taskFilterNames.some((name) => filters[name] !== "");
  const hasProject = projectId === undefined;
  const authors = [...new Set((query.data?.items ?? []).map(({ author }) => author))];
  return (
    <>
      <FilterBar
        example={hasProject ? "state:failed project:shop main" : "state:failed main"}
        words={taskWords.filter(({ parameter }) => hasProject || parameter !== "projectId")}
        filters={filters}
        change={change}
        choices={{ author: authors }}
        fields={<Fields filters={filters} change={change} hasProject={hasProject} authors={authors} />}
      />
      <List
        label={t("tasks.title")}
        query={query}
        onOpen={(task) => go(`/tasks/${task.id}`)}
        empty={
          isFiltered ? (
            <Empty title={t("tasks.noMatch")}>{t("tasks.noMatchHint")}</Empty>
          ) : (
            <Empty title={t("tasks.none")}>{t("tasks.noneHint")}</Empty>
          )
        }
        columns={[
          { title: t("tasks.task"), cell: (task) => <TaskState task={task} /> },
          ...(projectId === undefined
            ? [{ title: t("tasks.project"), cell: (task: Task) => <ProjectLink task={task} /> }]
            : []),
          {
            title: t("tasks.commit"),
            cell: (task) => (
              <>
                <Commit task={task} />
                <TaskMarks task={task} />
                <Waiting task={task} />
              </>
            ),
            isWhole: true,
          },
          { title: t("tasks.cause"), cell: (task) => <Cause task={task} />, visibleFrom: "lg" },
          { title: t("tasks.when"), cell: (task) => <TaskTimes task={task} /> },
          {
            title: t("tasks.number"),
            cell: (task) => <span className="figures">{task.id}</span>,
            visibleFrom: "md",
          },
        ]}
      />
    </>
  );
}

function ProjectLink({ task }: { task: Task }) {
  return (
    <Link
      href={`/projects/${task.projectId}`}
      className="foreign"
      onClick={(event) => event.stopPropagation()}
    >
      {visible(task.projectName || t("project.unnamed", { id: String(task.projectId) }))}
    </Link>
  );
}

function Fields({
  filters,
  change,
  hasProject,
  authors,
}: {
  filters: TaskFilters;
  change: (values: Partial<TaskFilters>) => void;
  hasProject: boolean;
  authors: string[];
}) {
  return (
    <>
      {hasProject && (
        <ProjectPicker value={filters.projectId} onChange={(projectId) => change({ projectId })} />
      )}
      <Select
        label={t("tasks.state")}
        placeholder={t("tasks.anyState")}
        clearable
        data={taskStates.map((state) => ({ value: state, label: t(`state.${state}`) }))}
        value={filters.state || null}
        onChange={(state) => change({ state: state ?? "" })}
      />
      <Select
        label={t("tasks.trigger")}
        placeholder={t("tasks.anyTrigger")}
        clearable
        data={taskTriggers.map((trigger) => ({
          value: trigger,
          label: t(`tasks.trigger_${trigger}`),
        }))}
        value={filters.trigger || null}
        onChange={(trigger) => change({ trigger: trigger ?? "" })}
      />
      <TypedFilter
        label={t("tasks.ref")}
        placeholder={t("tasks.refHint")}
        value={shortRef(filters.ref)}
        onChange={(ref) => change({ ref })}
      />
      <TypedFilter
        label={t("tasks.author")}
        placeholder={t("tasks.authorHint")}
        value={filters.author}
        choices={authors}
        onChange={(author) => change({ author })}
      />
      <TextInput
        type="datetime-local"
        label={t("tasks.from")}
        value={filters.from}
        onChange={(event) => change({ from: event.currentTarget.value })}
      />
      <TextInput
        type="datetime-local"
        label={t("tasks.to")}
        value={filters.to}
        onChange={(event) => change({ to: event.currentTarget.value })}
      />
    </>
  );
}

/** A text that must match as a whole: it filters when it is confirmed, not with each letter. */
function TypedFilter({
  label,
  placeholder,
  value,
  choices = [],
  onChange,
}: {
  label: string;
  placeholder: string;
  value: string;
  choices?: string[];
  onChange: (value: string) => void;
}) {
  const [typed, setTyped] = useState(value);
  const [known, setKnown] = useState(value);
  if (known !== value) {
    setKnown(value);
    setTyped(value);
  }
  const confirm = () => {
    if (typed.trim() !== value) onChange(typed.trim());
  };
  const listId = `choices-${label.replaceAll(/\s/g, "-")}`;
  return (
    <>
      <TextInput
        label={label}
        placeholder={placeholder}
        value={typed}
        list={listId}
        maxLength={250}
        onChange={(event) => setTyped(event.currentTarget.value)}
        onBlur={confirm}
        onKeyDown={(event) => event.key === "Enter" && confirm()}
      />
      <datalist id={listId}>
        {choices
          .filter((choice) => choice !== "")
          .map((choice) => (
            <option key={choice} value={choice} />
          ))}
      </datalist>
    </>
  );
}
