import { Button, Select, TextInput } from "@mantine/core";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { useAddressFilters } from "../address.ts";
import { useAllProjects } from "../all-projects.ts";
import { answerOf, api } from "../api.ts";
import { List } from "../components/list.tsx";
import { Empty, PageHead } from "../components/page.tsx";
import { ProjectPicker } from "../components/project-picker.tsx";
import { TaskMarks } from "../components/task-marks.tsx";
import { Cause, Commit, TaskState, TaskTimes, Waiting } from "../components/task-parts.tsx";
import { useListPage } from "../list-page.ts";
import { usePolling, whileWaiting } from "../live.ts";
import type { Task } from "../shapes.ts";
import { type TaskFilters, taskFilterNames, taskQueryOf, taskStates } from "../task-filters.ts";
import { t } from "../text/text.ts";
import { shortRef } from "../time-text.ts";
import { visible } from "../visible.ts";

export default function Tasks() {
  const { isCovered } = useAllProjects();
  return (
    <>
      <PageHead title={t("tasks.title")} about={t("tasks.about")} />
      <TaskList isCovered={isCovered} />
    </>
  );
}

/** Tasks of one project, or of all with the name of each. */
export function TaskList({
  projectId,
  isCovered = true,
}: {
  projectId?: number;
  /** Whether the live connection reports every task. */
  isCovered?: boolean;
}) {
  const [filters, change] = useAddressFilters(taskFilterNames);
  const [, go] = useLocation();
  const polling = usePolling(isCovered);
  const asked = taskQueryOf(projectId === undefined ? filters : { ...filters, projectId: String(projectId) });
  const query = useListPage(
    ["tasks", asked],
    (page) => answerOf(api.tasks.$get({ query: { page, pageSize: 20, ...asked } })),
    { refetchInterval: ({ state: { data } }) => whileWaiting(data?.items ?? [], polling) },
  );
  const isFiltered = taskFilterNames.some((name) => filters[name] !== "");
  return (
    <>
      <Filters
        filters={filters}
        change={change}
        hasProject={projectId === undefined}
        authors={[...new Set((query.data?.items ?? []).map(({ author }) => author))]}
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

/** On a phone the fields are shown on demand. */
function Filters({
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
  const isFiltered = taskFilterNames.some((name) => filters[name] !== "");
  const [isOpen, setOpen] = useState(isFiltered);
  return (
    <div className="filters" data-folded={!isOpen || undefined}>
      <Button
        variant="default"
        className="filters-toggle"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {t("tasks.filters")}
      </Button>
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
        data={(["webhook", "manual"] as const).map((trigger) => ({
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
      {isFiltered && (
        <Button
          variant="subtle"
          onClick={() => change(Object.fromEntries(taskFilterNames.map((name) => [name, ""])))}
        >
          {t("tasks.clear")}
        </Button>
      )}
    </div>
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
