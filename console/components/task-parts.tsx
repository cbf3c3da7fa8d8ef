import { Text } from "@mantine/core";
import type { Task } from "../shapes.ts";
import { t } from "../text/text.ts";
import { shortCommit, shortRef } from "../time-text.ts";
import { visible } from "../visible.ts";

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

type Caused = Pick<Task, "triggerType" | "triggeredBy" | "ref" | "causeRef" | "source" | "promotedFrom">;

/** Who or what started it; where a project always builds its own branch, by a push to which other one. */
export function Cause({ task }: { task: Caused }) {
  const text = causeText(task);
  return (
    <span className="foreign cause" title={text}>
      {text}
    </span>
  );
}

function causeText(task: Caused): string {
  const { triggerType, triggeredBy, ref, causeRef, source, promotedFrom } = task;
  const name = visible(triggeredBy) || t("tasks.unknownUser");
  // What it promotes may be of a delivery that somebody sent.
  if (promotedFrom) return t("tasks.promotedBy", { from: promotedFrom, name });
  const sender = source?.sentBy?.at(-1);
  if (sender !== undefined) return t("tasks.sentBy", { name: visible(sender) });
  const isPush = triggerType === "webhook";
  return causeRef !== null && causeRef !== ref
    ? t(isPush ? "tasks.pushedByTo" : "tasks.startedByTo", { name, ref: visible(shortRef(causeRef)) })
    : t(isPush ? "tasks.pushedBy" : "tasks.startedBy", { name });
}

/** It succeeded only because there was nothing to do. To stop a service is something, without a stage. */
export function hasRunNothing({
  state,
  stages,
  serviceAction,
}: Pick<Task, "state" | "stages" | "serviceAction">): boolean {
  return state === "success" && serviceAction === null && stages.every((stage) => stage.state === "skipped");
}
