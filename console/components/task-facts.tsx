import type { ReactNode } from "react";
import { Link } from "wouter";
import type { Serving } from "../serving.ts";
import type { Task } from "../shapes.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { shortCommit, shortRef } from "../time-text.ts";
import { visible } from "../visible.ts";
import { TaskMoment, Worked } from "./moment.tsx";
import { StateLabel } from "./state.tsx";
import { actionText } from "./task-marks.tsx";
import { Cause, hasRunNothing } from "./task-parts.tsx";

/** State, times, origin and relations of a task. */
export function TaskFacts({
  task,
  isFinished,
  serving,
}: {
  task: Task;
  isFinished: boolean;
  /** What may be said about its release; null: another one was deployed since, or none is known to serve. */
  serving: Serving | null;
}) {
  const isAuthorKnown = task.author !== "" && task.author !== task.triggeredBy;
  return (
    <div className="task-facts">
      <StateLabel state={task.state} strong text={hasRunNothing(task) ? t("tasks.nothingRan") : undefined} />
      {isFinished && serving === "serving" && <b className="serving-now">{t("task.servingNow")}</b>}
      {isFinished && serving === "unchecked" && <span>{t("task.deployedUnchecked")}</span>}
      {task.serviceAction !== null && <span className="foreign">{actionText(task.serviceAction)}</span>}
      <span>{timesOf(task, isFinished)}</span>
      <Cause task={task} />
      {isAuthorKnown && (
        <span className="foreign">{t("task.authoredBy", { author: visible(task.author) })}</span>
      )}
      {task.deliveryId !== undefined && (
        <Link href={`/deliveries/${task.deliveryId}`}>
          {t("task.delivery", { id: String(task.deliveryId) })}
        </Link>
      )}
      {task.rerunOf !== null && (
        <Link href={`/tasks/${task.rerunOf}`}>{t("task.rerunOf", { id: String(task.rerunOf) })}</Link>
      )}
      {task.rollbackTo !== null && (
        <Link href={`/tasks/${task.rollbackTo}`}>
          {t("task.rollbackOf", { id: String(task.rollbackTo) })}
        </Link>
      )}
      {task.supersededBy !== null && (
        <Link href={`/tasks/${task.supersededBy}`}>
          {t("task.supersededBy", { id: String(task.supersededBy) })}
        </Link>
      )}
      <HostLinks task={task} />
    </div>
  );
}

function timesOf(task: Task, isFinished: boolean): ReactNode {
  const when = <TaskMoment task={task} />;
  if (task.startedAt === null || task.state === "queued") {
    if (isFinished) return rich("task.over", { when });
    return task.queuePosition === undefined
      ? rich("task.created", { when })
      : task.queuePosition === 1
        ? rich("task.createdNext", { when })
        : rich("task.createdPlace", { when, place: task.queuePosition });
  }
  const words = task.state === "waiting" ? "task.built" : isFinished ? "task.finished" : "task.started";
  return rich(words, {
    when,
    duration: <Worked task={task} from={task.startedAt} />,
  });
}

/** Pages of the Git host. */
function HostLinks({ task: { links, ref, commit, source } }: { task: Task }) {
  if (!links) return null;
  return (
    <>
      {links.commit !== null && (
        <Outside href={links.commit} title={t("task.viewCommit", { commit: visible(shortCommit(commit)) })}>
          {visible(shortCommit(commit))}
        </Outside>
      )}
      {links.ref !== null && (
        <Outside href={links.ref} title={t("task.viewRef", { ref: visible(shortRef(ref)) })}>
          {visible(shortRef(ref))}
        </Outside>
      )}
      {links.mergeRequest !== null && (
        <Outside href={links.mergeRequest}>
          {t("task.mergeRequest", { number: visible(source?.mergeRequest ?? "") })}
        </Outside>
      )}
      {links.compare !== null && <Outside href={links.compare}>{t("task.compare")}</Outside>}
    </>
  );
}

function Outside({ href, title, children }: { href: string; title?: string; children: ReactNode }) {
  return (
    <a
      href={href}
      target="_blank"
      rel="noreferrer"
      className="outside foreign"
      {...(title === undefined ? {} : { title })}
    >
      {children}
    </a>
  );
}
