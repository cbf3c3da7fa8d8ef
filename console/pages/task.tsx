import { Alert, Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { Link } from "wouter";
import { ApprovalAnswer } from "../components/approval-answer.tsx";
import { ConfirmButton } from "../components/confirm.tsx";
import { Icon } from "../components/icon.tsx";
import { LogView } from "../components/log-view.tsx";
import { Elapsed, Moment } from "../components/moment.tsx";
import { PageHead } from "../components/page.tsx";
import { LoadedPage } from "../components/query.tsx";
import { StateLabel } from "../components/state.tsx";
import { Cause, Commit } from "../components/task-parts.tsx";
import { useLiveProjects, usePolling, whileWaiting } from "../live.ts";
import type { LogLines } from "../log-lines.ts";
import { projectQuery } from "../project-query.ts";
import { outputQuery, useRollback } from "../release-query.ts";
import type { Task } from "../shapes.ts";
import { taskQuery, useCancelTask, useRerunTask } from "../task-query.ts";
import { reasonIn } from "../text/reason-text.ts";
import { shortCommit } from "../time-text.ts";
import { useTaskLog } from "../use-task-log.ts";
import { visible } from "../visible.ts";

export default function TaskPage({ id }: { id: number }) {
  const polling = usePolling();
  const task = useQuery({
    ...taskQuery(id),
    refetchInterval: ({ state: { data } }) => whileWaiting(data === undefined ? [] : [data], polling),
  });
  return (
    <LoadedPage query={task} title={`Task ${id}`} list={{ href: "/tasks", label: "All tasks" }}>
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
  return (
    <>
      <PageHead
        tab={`${task.state}: task ${task.id}`}
        title={
          <>
            <Link href={`/projects/${task.projectId}`} className="foreign">
              {visible(project.data?.name ?? `Project ${task.projectId}`)}
            </Link>{" "}
            <span className="dim">task {task.id}</span>
          </>
        }
        about={<Commit task={task} />}
      >
        {project.data?.permission === "manage" && <Actions task={task} isFinished={isFinished} />}
      </PageHead>
      <div className="stack">
        <div className="task-facts">
          <StateLabel state={task.state} strong />
          <span>
            {task.startedAt === null ? (
              <>
                created <Moment at={task.createdAt} />
                {task.queuePosition !== undefined && `, place ${task.queuePosition} in the queue`}
              </>
            ) : (
              <>
                started <Moment at={task.startedAt} />, {isFinished ? "took" : "running for"}{" "}
                <Elapsed from={task.startedAt} to={task.finishedAt} />
              </>
            )}
          </span>
          <Cause task={task} />
          {task.deliveryId !== undefined && (
            <Link href={`/deliveries/${task.deliveryId}`}>delivery {task.deliveryId}</Link>
          )}
          {task.rerunOf !== null && <Link href={`/tasks/${task.rerunOf}`}>again of task {task.rerunOf}</Link>}
          {task.rollbackTo !== null && (
            <Link href={`/tasks/${task.rollbackTo}`}>rollback to task {task.rollbackTo}</Link>
          )}
          {task.supersededBy !== null && (
            <Link href={`/tasks/${task.supersededBy}`}>superseded by task {task.supersededBy}</Link>
          )}
        </div>
        {task.reason !== "" && task.state !== "success" && (
          <Alert variant="light" color={task.state === "failed" ? "red" : "lamp"} role="note">
            {reasonIn(task.reason, task.reasonParts)}
          </Alert>
        )}
        {task.waiting !== undefined && (
          <Alert variant="light" color="lamp" role="note">
            {reasonIn(task.waiting, task.waitingParts ?? [])}
          </Alert>
        )}
        <Stages task={task} log={log} />
        <ServiceOutput task={task} />
        <LogView log={log} taskId={task.id} isRunning={!isFinished} />
      </div>
    </>
  );
}

function Stages({ task, log }: { task: Task; log: LogLines }) {
  useSyncExternalStore(log.subscribe, () => log.stageStarts.size);
  return (
    <ol className="stages" aria-label="Stages">
      {task.stages.map((stage) => (
        <li key={stage.name} className="stage" data-state={stage.state}>
          <b>
            <LineLink name={stage.name} start={log.stageStarts.get(stage.name)} />
          </b>
          <StateLabel state={stage.state} />
          <span className="stage-time">
            {stage.startedAt === null ? "–" : <Elapsed from={stage.startedAt} to={stage.finishedAt} />}
            {stage.exitCode !== null && stage.exitCode !== 0 && `, exit code ${stage.exitCode}`}
          </span>
        </li>
      ))}
    </ol>
  );
}

/** The first minute of what the started service printed. */
function ServiceOutput({ task }: { task: Task }) {
  const hasStarted = task.stages.some(({ name, state }) => name === "start" && state === "success");
  const polling = usePolling();
  const output = useQuery({ ...outputQuery(task.id), enabled: hasStarted, refetchInterval: polling });
  if (!output.data?.output && !output.data?.hasExited) return null;
  return (
    <details className="service-output">
      <summary>
        First minute of the service's output
        {output.data.hasExited && ": all its processes have exited"}
      </summary>
      <pre className="script">{visible(output.data.output)}</pre>
    </details>
  );
}

/** The name of a stage, leading to its first line once it has one. */
function LineLink({ name, start }: { name: string; start: number | undefined }) {
  if (start === undefined) return name;
  return (
    <a href={`#L${start + 1}`} className="stage-link" title={`To the first line of ${name}`}>
      {name}
    </a>
  );
}

function Actions({ task, isFinished }: { task: Task; isFinished: boolean }) {
  const cancel = useCancelTask(task.id);
  const rerun = useRerunTask(task.id);
  const rollback = useRollback(task.projectId);
  if (task.state === "waiting") return <ApprovalAnswer task={task} />;
  if (!isFinished) {
    return (
      <ConfirmButton
        label="Cancel"
        leftSection={<Icon name="stop" size={14} />}
        disabled={task.state === "canceling"}
        title={`Cancel task ${task.id}?`}
        confirm="Cancel the task"
        isDanger
        onConfirm={() => cancel.mutateAsync(undefined)}
      >
        Its scripts get SIGTERM, and after a grace SIGKILL. What they have already deployed stays.
      </ConfirmButton>
    );
  }
  const { commit } = task;
  return (
    <>
      <Button
        variant="default"
        leftSection={<Icon name="again" size={15} />}
        loading={rerun.isPending}
        onClick={() => rerun.mutate(undefined)}
      >
        Run again
      </Button>
      {commit !== null && task.state === "success" && (
        <ConfirmButton
          label="Deploy this commit"
          title={`Deploy ${shortCommit(commit)} again?`}
          confirm="Deploy it"
          onConfirm={() => rollback.mutateAsync(task.rollbackTo ?? task.id)}
        >
          A new task deploys exactly this commit, with the scripts and the environment that it had. If its
          workspace is kept, nothing is built again.
        </ConfirmButton>
      )}
    </>
  );
}
