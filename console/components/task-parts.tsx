import { Text } from "@mantine/core";
import { Link } from "wouter";
import type { Task } from "../shapes.ts";
import { reasonIn } from "../text/reason-text.ts";
import { t } from "../text/text.ts";
import { shortCommit, shortRef } from "../time-text.ts";
import { visible } from "../visible.ts";
import { Moment, Worked } from "./moment.tsx";
import { StageRail, StateLabel } from "./state.tsx";

/** Branch, commit and the first line of its message. */
export function Commit({ task }: { task: Pick<Task, "ref" | "commit" | "message"> }) {
  const [firstLine = ""] = task.message.split("\n");
  return (
    <div className="commit-line">
      <span className="cut commit-ref" title={visible(shortRef(task.ref))}>
        {visible(shortRef(task.ref))}
      </span>
      {task.commit !== null && <span className="mono">{visible(shortCommit(task.commit))}</span>}
      {firstLine !== "" && (
        <Text span size="sm" c="dimmed" className="cut commit-message" title={visible(task.message)}>
          {visible(firstLine)}
        </Text>
      )}
    </div>
  );
}

/** State and stages on one line, leading to the task. */
export function TaskState({ task }: { task: Task }) {
  return (
    <Link href={`/tasks/${task.id}`} className="task-link" onClick={(event) => event.stopPropagation()}>
      <StateLabel state={task.state} text={hasRunNothing(task) ? t("tasks.nothingRan") : undefined} />
      <StageRail stages={task.stages} />
    </Link>
  );
}

/** When it ran and for how long; while it waits, in which place. */
export function TaskTimes({ task }: { task: Task }) {
  if (task.startedAt === null || task.state === "queued") {
    return (
      <span className="nowrap">
        {task.finishedAt === null && (
          <>
            {task.queuePosition === undefined
              ? t("tasks.waits")
              : t("tasks.place", { place: task.queuePosition })}
            {" · "}
          </>
        )}
        <Moment at={task.createdAt} />
      </span>
    );
  }
  return (
    <span className="nowrap">
      <Moment at={task.startedAt} /> · <Worked task={task} from={task.startedAt} />
    </span>
  );
}

/** Why no runner can take the task at the moment. */
export function Waiting({ task }: { task: Pick<Task, "waiting" | "waitingParts"> }) {
  if (task.waiting === undefined) return null;
  return <div className="waiting">{reasonIn(task.waiting, task.waitingParts ?? [])}</div>;
}

/** Who or what started it; where a project always builds its own branch, by a push to which other one. */
export function Cause({
  task,
}: {
  task: Pick<Task, "triggerType" | "triggeredBy" | "ref" | "causeRef" | "source">;
}) {
  const isPush = task.triggerType === "webhook";
  const sender = task.source?.sentBy?.at(-1);
  if (sender !== undefined) {
    const text = t("tasks.sentBy", { name: visible(sender) });
    return (
      <span className="foreign cause" title={text}>
        {text}
      </span>
    );
  }
  const name = visible(task.triggeredBy) || t("tasks.unknownUser");
  const text =
    task.causeRef !== null && task.causeRef !== task.ref
      ? t(isPush ? "tasks.pushedByTo" : "tasks.startedByTo", { name, ref: visible(shortRef(task.causeRef)) })
      : t(isPush ? "tasks.pushedBy" : "tasks.startedBy", { name });
  return (
    <span className="foreign cause" title={text}>
      {text}
    </span>
  );
}

/** It succeeded only because there was nothing to do. To stop a service is something, without a stage. */
export function hasRunNothing({
  state,
  stages,
  serviceAction,
}: Pick<Task, "state" | "stages" | "serviceAction">): boolean {
  return state === "success" && serviceAction === null && stages.every((stage) => stage.state === "skipped");
}
