import { Alert } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useSyncExternalStore } from "react";
import { Link } from "wouter";
import { hasOwnSteps, stepTitle } from "../../src/model/stage/stage-name.ts";
import { plainText } from "../ansi.ts";
import { ApprovalPanel } from "../components/approval-panel.tsx";
import { UsedSettings } from "../components/changed-settings.tsx";
import { LogView } from "../components/log-view.tsx";
import { Elapsed } from "../components/moment.tsx";
import { PageHead } from "../components/page.tsx";
import { LoadedPage } from "../components/query.tsx";
import { SampleSteps } from "../components/sample-steps.tsx";
import { StateLabel } from "../components/state.tsx";
import { TaskActions, WatchButton } from "../components/task-actions.tsx";
import { TaskFacts } from "../components/task-facts.tsx";
import { Commit, hasRunNothing } from "../components/task-parts.tsx";
import { firstErrorOf } from "../first-error.ts";
import { useLiveProjects, usePolling, whileWaiting } from "../live.ts";
import type { LogLines } from "../log-lines.ts";
import { projectQuery } from "../project-query.ts";
import { outputQuery } from "../release-query.ts";
import type { Task } from "../shapes.ts";
import { taskQuery } from "../task-query.ts";
import { reasonIn } from "../text/reason-text.ts";
import { t } from "../text/text.ts";
import { useTaskLog } from "../use-task-log.ts";
import { visible } from "../visible.ts";

export default function TaskPage({ id }: { id: number }) {
  const polling = usePolling();
  const task = useQuery({
    ...taskQuery(id),
    refetchInterval: ({ state: { data } }) => whileWaiting(data === undefined ? [] : [data], polling),
  });
  return (
    <LoadedPage
      query={task}
      title={t("task.title", { id: String(id) })}
      list={{ href: "/tasks", label: t("tasks.all") }}
    >
      {(loaded) => <TaskView task={loaded} />}
    </LoadedPage>
  );
}

const finished = ["success", "failed", "canceled", "timeout", "lost"];

function TaskView({ task }: { task: Task }) {
  const isFinished = finished.includes(task.state);
  useLiveProjects([task.projectId]);
  const project = useQuery(projectQuery(task.projectId));
  const log = useTaskLog(task.projectId, task.id, isFinished);
  const id = String(task.id);
  const projectName = project.data?.name ?? t("project.unnamed", { id: String(task.projectId) });
  const isServing = project.data?.liveTaskId === task.id;
  return (
    <>
      <PageHead
        tab={t("task.tab", { id, state: t(`state.${task.state}`) })}
        title={
          <>
            <Link href={`/projects/${task.projectId}`} className="foreign">
              {visible(projectName)}
            </Link>{" "}
            <span className="dim">{t("task.number", { id })}</span>
          </>
        }
        about={<Commit task={task} />}
      >
        {!isFinished && <WatchButton task={task} projectName={projectName} />}
        {project.data?.permission === "manage" && (
          <TaskActions task={task} isFinished={isFinished} project={project.data} />
        )}
      </PageHead>
      <div className="stack">
        <TaskFacts task={task} isFinished={isFinished} isServing={isServing} />
        {task.state === "waiting" ? (
          <ApprovalPanel task={task} mayAnswer={project.data?.permission === "manage"} />
        ) : (
          <Reason task={task} liveTaskId={project.data?.liveTaskId ?? null} />
        )}
        <OverrideNote task={task} />
        {isFinished && project.data?.sample && <SampleSteps project={project.data} task={task} />}
        {task.rollbackTo !== null && <UsedSettings projectId={task.projectId} taskId={task.rollbackTo} />}
        {task.waiting !== undefined && (
          <Alert variant="light" color="lamp" role="note">
            {reasonIn(task.waiting, task.waitingParts ?? [])}
          </Alert>
        )}
        <Stages task={task} log={log} />
        <ServiceOutput task={task} />
        <FirstError task={task} log={log} />
        <LogView log={log} taskId={task.id} isRunning={!isFinished} />
      </div>
    </>
  );
}

/** Why the task ended as it did. */
function Reason({ task, liveTaskId }: { task: Task; liveTaskId: number | null }) {
  const isSuccess = task.state === "success";
  if (!hasRunNothing(task) && (isSuccess || task.reason === "")) return null;
  return (
    <Alert variant="light" color={reasonColor(task)} role="note" className="foreign task-reason">
      {isSuccess ? t("task.nothingRan") : reasonOf(task, liveTaskId)}
    </Alert>
  );
}

/** An approval that the rule would have left to nobody. */
function OverrideNote({ task: { approval } }: { task: Task }) {
  if (!approval?.override) return null;
  const said = { user: visible(approval.by ?? ""), reason: visible(approval.comment) };
  return (
    <Alert variant="light" color="lamp" role="note" className="foreign">
      {t("approval.overridden", said)}
    </Alert>
  );
}

/** Amber is for what needs attention: an approval that was given does not. */
function reasonColor({ state }: Task): "red" | "lamp" | "tide" {
  if (state === "failed") return "red";
  return ["queued", "dispatched", "running"].includes(state) ? "tide" : "lamp";
}

/** Sentences about the time when the task ended: by now, another release may serve. */
const servedThen = { rolled_back: "task.servedAgain", still_serving: "task.stillServed" } as const;

function reasonOf({ reason, reasonParts, rollback }: Task, liveTaskId: number | null): string {
  const [first, ...others] = reasonParts;
  const key = first && first.code in servedThen ? servedThen[first.code as keyof typeof servedThen] : null;
  if (!first || key === null || rollback?.taskId === liveTaskId) return reasonIn(reason, reasonParts);
  const then = t(key, { failed: String(first.values.failed), serving: String(first.values.serving) });
  // The first sentence has no other full stop than its own.
  const rest = others.length === 0 ? "" : reasonIn(reason.slice(reason.indexOf(". ") + 2), others);
  return `${visible(then)} ${rest}`.trim();
}

/** The line that probably explains the failure, above the log. */
function FirstError({ task, log }: { task: Task; log: LogLines }) {
  const isComplete = useSyncExternalStore(log.subscribe, () => log.isComplete);
  const stage = task.stages.find(({ state }) => state === "failed")?.name ?? null;
  const index = useMemo(() => {
    if (!isComplete || task.state !== "failed") return null;
    return firstErrorOf(log, stage ?? "checkout");
  }, [isComplete, log, stage, task.state]);
  if (index === null) return null;
  return (
    <div className="first-error">
      <a href={`#L${index + 1}`}>{t("task.firstError", { line: index + 1 })}</a>
      <code>{plainText(log.textAt(index)).trim()}</code>
    </div>
  );
}

function Stages({ task, log }: { task: Task; log: LogLines }) {
  useSyncExternalStore(log.subscribe, () => log.stageStarts.size);
  return (
    <ol className="stages" aria-label={t("task.stages")}>
      {task.stages
        .map((stage) => shownStage(stage, task, log))
        .map((stage) => (
          <li key={stage.name} className="stage" data-state={stage.state}>
            <b>
              <LineLink name={stage.name} start={log.stageStarts.get(stage.name)} />
            </b>
            <StateLabel state={stage.state} />
            <StepTime step={stage} />
            {hasOwnSteps(stage) && (
              <ol className="steps" aria-label={t("task.stepsOf", { stage: stage.name })}>
                {stage.steps.map((step) => (
                  <li key={step.name} className="step" data-state={step.state}>
                    <LineLink
                      name={step.name}
                      start={log.stageStarts.get(stepTitle(stage.name, step.name))}
                    />
                    <StateLabel state={step.state} />
                    <StepTime step={step} />
                  </li>
                ))}
              </ol>
            )}
          </li>
        ))}
    </ol>
  );
}

function StepTime({
  step: { startedAt, finishedAt, exitCode },
}: {
  step: Task["stages"][number]["steps"][number];
}) {
  return (
    <span className="stage-time">
      {startedAt === null ? "–" : <Elapsed from={startedAt} to={finishedAt} />}
      {exitCode !== null && exitCode !== 0 && ` · ${t("task.exitCode", { code: String(exitCode) })}`}
    </span>
  );
}

/** Lines of a stage may arrive before the news that it has started. */
function shownStage(stage: Task["stages"][number], { state }: Task, log: LogLines) {
  const isRunning = state === "running" && stage.state === "pending" && log.stageStarts.has(stage.name);
  return isRunning ? { ...stage, state: "running" as const } : stage;
}

/** The first minute of output of the started service. */
function ServiceOutput({ task }: { task: Task }) {
  const hasStarted = task.stages.some(({ name, state }) => name === "start" && state === "success");
  const polling = usePolling();
  const output = useQuery({ ...outputQuery(task.id), enabled: hasStarted, refetchInterval: polling });
  if (!output.data?.output && !output.data?.hasExited) return null;
  return (
    <details className="service-output">
      <summary>{t(output.data.hasExited ? "task.serviceExited" : "task.serviceOutput")}</summary>
      <pre className="script">{visible(output.data.output)}</pre>
    </details>
  );
}

/** The name of a stage, as a link to its first line once it has one. */
function LineLink({ name, start }: { name: string; start: number | undefined }) {
  if (start === undefined) return name;
  return (
    <a href={`#L${start + 1}`} className="stage-link" title={t("task.toFirstLine", { stage: name })}>
      {name}
    </a>
  );
}
