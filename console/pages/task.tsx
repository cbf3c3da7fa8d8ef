import { useQuery } from "@tanstack/react-query";
import { useMemo, useSyncExternalStore } from "react";
import { Link } from "wouter";
import { hasOwnSteps, stepTitle } from "../../src/model/stage/stage-name.ts";
import { plainText } from "../ansi.ts";
import { ApprovalPanel } from "../components/approval-panel.tsx";
import { UsedSettings } from "../components/changed-settings.tsx";
import { LogView } from "../components/log-view.tsx";
import { Elapsed, Moment } from "../components/moment.tsx";
import { Notice } from "../components/notice.tsx";
import { PageHead, Rows } from "../components/page.tsx";
import { LoadedPage } from "../components/query.tsx";
import { SampleSteps } from "../components/sample-steps.tsx";
import { StateLabel, stageStateText, toneOf } from "../components/state.tsx";
import { TaskActions, WatchButton } from "../components/task-actions.tsx";
import { TaskFacts } from "../components/task-facts.tsx";
import { Commit, hasRunNothing } from "../components/task-parts.tsx";
import { useLiveProjects, usePolling, whileWaiting } from "../live.ts";
import type { LogLines } from "../log-lines.ts";
import { type ProbableCause, probableCauseOf } from "../probable-cause.ts";
import { projectQuery } from "../project-query.ts";
import { useRecent } from "../recent.ts";
import { outputQuery, releasesQuery } from "../release-query.ts";
import { servingOf } from "../serving.ts";
import { meQuery } from "../session.ts";
import type { Project, Task } from "../shapes.ts";
import { taskQuery } from "../task-query.ts";
import { reasonIn } from "../text/reason-text.ts";
import { rich } from "../text/rich.ts";
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
      list={{ href: "/activity", label: t("activity.all") }}
    >
      {(loaded) => <TaskView task={loaded} />}
    </LoadedPage>
  );
}

type Stage = Task["stages"][number];

const finished = ["success", "failed", "canceled", "timeout", "lost"];

function TaskView({ task }: { task: Task }) {
  const isFinished = finished.includes(task.state);
  useLiveProjects([task.projectId]);
  const project = useQuery(projectQuery(task.projectId));
  const log = useTaskLog(task.projectId, task.id, isFinished);
  const id = String(task.id);
  const projectName = project.data?.name ?? t("project.unnamed", { id: String(task.projectId) });
  useRecent(project.data ? `/tasks/${id}` : null, project.data?.name);
  const isLive = project.data?.liveTaskId === task.id;
  const releases = useQuery({ ...releasesQuery(task.projectId), enabled: isLive });
  const release = releases.data?.items.find((each) => each.isLive);
  const cause = useCause(task, log);
  const serving = isLive && project.data ? servingOf(project.data, release) : null;
  // What the project has to say about the task stands above the log.
  if (project.isPending || (isLive && releases.isPending)) return <Rows shape="page" />;
  return (
    <>
      <PageHead
        tab={t("task.tab", { id, state: t(`state.${task.state}`) })}
        title={t("task.number", { id })}
        project={{ id: task.projectId, name: projectName }}
        about={<Commit task={task} />}
      >
        {!isFinished && <WatchButton task={task} projectName={projectName} />}
        {project.data?.permission === "manage" && (
          <TaskActions task={task} isFinished={isFinished} project={project.data} />
        )}
      </PageHead>
      <div className="stack">
        <TaskFacts task={task} isFinished={isFinished} serving={serving} />
        {task.state === "waiting" ? (
          <ApprovalPanel task={task} mayAnswer={project.data?.permission === "manage"} />
        ) : (
          <Reason task={task} liveTaskId={project.data?.liveTaskId ?? null} />
        )}
        {project.data && <WaysOn task={task} project={project.data} />}
        <ApprovalRecord task={task} />
        {isFinished && project.data?.sample && <SampleSteps project={project.data} task={task} />}
        {task.rollbackTo !== null && <UsedSettings projectId={task.projectId} taskId={task.rollbackTo} />}
        <Waiting task={task} />
        <Stages task={task} log={log} />
        <ServiceOutput task={task} />
        {cause !== null && <FirstError cause={cause} log={log} />}
        {task.state === "failed" && !log.isComplete && (
          <div className="first-error">
            <Rows count={1} shape="lines" />
          </div>
        )}
        <LogView
          log={log}
          taskId={task.id}
          isRunning={!isFinished}
          opensAt={cause?.namesError ? cause.index : null}
        />
      </div>
    </>
  );
}

/** What the task waits for; whether a runner takes it is settled under Runners, by administrators. */
function Waiting({ task: { state, waiting, waitingParts = [] } }: { task: Task }) {
  const { data: me } = useQuery(meQuery);
  if (waiting === undefined) return null;
  return (
    <Notice tone="needed">
      {reasonIn(waiting, waitingParts)}
      {state === "queued" && me?.role === "admin" && (
        <>
          {" "}
          <Link href="/runners">{t("task.toRunners")}</Link>
        </>
      )}
    </Notice>
  );
}

/** Why the task ended as it did. */
function Reason({ task, liveTaskId }: { task: Task; liveTaskId: number | null }) {
  const isSuccess = task.state === "success";
  if (!hasRunNothing(task) && (isSuccess || task.reason === "")) return null;
  return (
    <Notice tone={reasonTone(task)} className="foreign task-reason">
      {isSuccess ? t("task.nothingRan") : reasonOf(task, liveTaskId)}
    </Notice>
  );
}

/** Who answered the request for an approval, when, after how long, and with which words. */
function ApprovalRecord({ task: { approval } }: { task: Task }) {
  const { by = null, at = null, requestedAt = null } = approval ?? {};
  if (approval === null || by === null || at === null) return null;
  const isApproved = approval.state === "approved";
  const said = approval.override ? "approval.overridden" : isApproved ? "approval.given" : "approval.refused";
  return (
    <p className="foreign approval-record">
      {rich(said, { user: visible(by), when: <Moment at={at} />, reason: visible(approval.comment) })}{" "}
      {requestedAt !== null && rich("approval.waited", { time: <Elapsed from={requestedAt} to={at} /> })}{" "}
      {isApproved && !approval.override && approval.comment !== "" && (
        <q className="dim">{visible(approval.comment)}</q>
      )}
    </p>
  );
}

function reasonTone({ state }: Task): "wrong" | "going" | "plain" {
  if (toneOf[state] === "failed" || state === "lost") return "wrong";
  return toneOf[state] === "running" || state === "queued" ? "going" : "plain";
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

/** From a failure to what can be done about it. To run the task again is a button above. */
function WaysOn({ task, project }: { task: Task; project: Project }) {
  if (!["failed", "timeout"].includes(task.state)) return null;
  const failed = failedTitle(task);
  const isSetting = failed !== "checkout";
  const section = isSetting ? `pipeline#${failed.split("/")[0]}` : "source";
  const { liveTaskId } = project;
  return (
    <nav className="ways-on" aria-label={t("task.waysOn")}>
      {project.permission === "manage" && task.serviceAction === null && (
        <Link href={`/projects/${project.id}/settings/${section}`}>
          {isSetting ? t("task.editStep", { step: visible(failed) }) : t("task.editRepository")}
        </Link>
      )}
      {liveTaskId === null ? (
        <span>{t("task.nothingDeployed")}</span>
      ) : (
        <Link href={`/tasks/${liveTaskId}`}>{t("task.deployedNow", { id: String(liveTaskId) })}</Link>
      )}
    </nav>
  );
}

/** Which lines of the log belong to what failed: those of a step, of a stage, or of the checkout. */
function failedTitle({ stages }: Task): string {
  const hasFailed = ({ state }: Pick<Stage, "state">) => state === "failed" || state === "timeout";
  const stage = stages.find(hasFailed);
  if (stage === undefined) return "checkout";
  const step = stage.steps.find(hasFailed);
  return step === undefined ? stage.name : stepTitle(stage.name, step.name);
}

/** The line that probably explains the failure, once the log is complete. */
function useCause(task: Task, log: LogLines): ProbableCause | null {
  const isComplete = useSyncExternalStore(log.subscribe, () => log.isComplete);
  const title = failedTitle(task);
  return useMemo(() => {
    if (!isComplete || task.state !== "failed") return null;
    return probableCauseOf(log, title);
  }, [isComplete, log, title, task.state]);
}

function FirstError({ cause: { index, namesError }, log }: { cause: ProbableCause; log: LogLines }) {
  return (
    <div className="first-error">
      <a href={`#L${index + 1}`}>
        {t(namesError ? "task.namesError" : "task.lastLine", { line: index + 1 })}
      </a>
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
            <StageState task={task} stage={stage} step={stage} />
            <StepTime step={stage} />
            {hasOwnSteps(stage) && (
              <ol className="steps" aria-label={t("task.stepsOf", { stage: stage.name })}>
                {stage.steps.map((step) => (
                  <li key={step.name} className="step" data-state={step.state}>
                    <LineLink
                      name={step.name}
                      start={log.stageStarts.get(stepTitle(stage.name, step.name))}
                    />
                    <StageState task={task} stage={stage} step={step} />
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

function StageState({ task, stage, step }: { task: Task; stage: Stage; step: Pick<Stage, "state"> }) {
  const skipped = step.state === "skipped" ? stageStateText(task, stage, step) : undefined;
  return <StateLabel state={step.state} text={skipped} />;
}

function StepTime({
  step: { startedAt, finishedAt, exitCode },
}: {
  step: Task["stages"][number]["steps"][number];
}) {
  if (startedAt === null) return null;
  return (
    <span className="stage-time">
      <Elapsed from={startedAt} to={finishedAt} />
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
