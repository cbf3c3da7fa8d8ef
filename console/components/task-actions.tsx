import { Button } from "@mantine/core";
import { complainOf } from "../act.ts";
import { useRollback } from "../release-query.ts";
import type { Project, Task } from "../shapes.ts";
import { useCancelTask, useRerunTask } from "../task-query.ts";
import { t } from "../text/text.ts";
import { shortCommit } from "../time-text.ts";
import { visible } from "../visible.ts";
import { canNotify, stopWatching, useIsWatched, watchTask } from "../watched-tasks.ts";
import { ApprovalHint } from "./approval-hint.tsx";
import { Returning } from "./changed-settings.tsx";
import { ConfirmButton } from "./confirm.tsx";
import { Icon } from "./icon.tsx";

/** What a manager can do with a task. Each action that deploys or stops something asks for confirmation. */
export function TaskActions({
  task,
  isFinished,
  project,
}: {
  task: Task;
  isFinished: boolean;
  project: Project;
}) {
  // The panel of the request has its answers.
  if (task.state === "waiting") return null;
  return isFinished ? <Repeat task={task} project={project} /> : <Cancel task={task} />;
}

function Cancel({ task }: { task: Task }) {
  const cancel = useCancelTask(task.id);
  return (
    <ConfirmButton
      label={t("task.cancel")}
      leftSection={<Icon name="stop" size={14} />}
      disabled={task.state === "canceling"}
      title={t("task.cancelTitle", { id: String(task.id) })}
      confirm={t("task.cancelSubmit")}
      pageAction={t("task.cancelSubmit")}
      dismiss={t("task.keepRunning")}
      isDanger
      onConfirm={() => cancel.mutateAsync(undefined)}
    >
      {t("task.cancelAbout")}
    </ConfirmButton>
  );
}

function Repeat({ task, project }: { task: Task; project: Project }) {
  const rerun = useRerunTask(task.id);
  const rollback = useRollback(task.projectId);
  const releaseOf = task.rollbackTo ?? task.id;
  const { liveTaskId } = project;
  const isEarlier = liveTaskId !== null && liveTaskId !== task.id && task.serviceAction === null;
  const approval = <ApprovalHint project={project} />;
  // A move is begun again from the page of the releases.
  if (task.move !== null || task.serviceAction?.type === "leave") return null;
  return (
    <>
      <ConfirmButton
        label={t("task.rerun")}
        leftSection={<Icon name="again" size={15} />}
        title={t("task.rerunTitle", { id: String(task.id) })}
        confirm={t("task.rerunSubmit")}
        pageAction={t("task.rerun")}
        onConfirm={() => rerun.mutateAsync(undefined)}
      >
        {task.serviceAction === null ? (
          <>
            <p>{t("task.rerunAbout")}</p>
            {approval}
          </>
        ) : (
          t("task.repeatAction")
        )}
      </ConfirmButton>
      {isEarlier && task.commit !== null && task.state === "success" && (
        <ConfirmButton
          label={t("task.redeploy")}
          title={t("task.redeployTitle", { commit: visible(shortCommit(task.commit)) })}
          confirm={t("task.redeploySubmit")}
          pageAction={t("task.redeploy")}
          isWide
          onConfirm={() => rollback.mutateAsync(releaseOf)}
        >
          <p>{t("task.redeployAbout")}</p>
          {approval}
          <Returning projectId={task.projectId} taskId={releaseOf} />
        </ConfirmButton>
      )}
    </>
  );
}

/** Asks for a notification of the browser when the task ends. */
export function WatchButton({ task, projectName }: { task: Task; projectName: string }) {
  const isWatched = useIsWatched(task.id);
  if (!canNotify) return null;
  const toggle = async () => {
    if (isWatched) stopWatching(task.id);
    else if (!(await watchTask(task, projectName))) complainOf(t("task.watchDenied"));
  };
  return (
    <Button
      variant="default"
      leftSection={<Icon name="bell" size={15} />}
      aria-pressed={isWatched}
      title={t("task.watchHint")}
      onClick={() => void toggle()}
    >
      {t(isWatched ? "task.watching" : "task.watch")}
    </Button>
  );
}
