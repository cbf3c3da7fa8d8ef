import { Checkbox } from "@mantine/core";
import { Link } from "wouter";
import type { ActivityRow } from "../../shapes.ts";
import { reasonIn } from "../../text/reason-text.ts";
import { t } from "../../text/text.ts";
import { shortCommit, shortRef } from "../../time-text.ts";
import { visible } from "../../visible.ts";
import { Moment, TaskMoment, Worked } from "../moment.tsx";
import { StateLabel } from "../state.tsx";
import { actionText, Mark, TaskMarks } from "../task-marks.tsx";
import { Cause, hasRunNothing } from "../task-parts.tsx";
import { Path } from "./path.tsx";

export function keyOf({ delivery, task }: ActivityRow): string {
  return delivery === null ? `task-${task?.id}` : `delivery-${delivery.id}`;
}

/** What changed: the first line of the commit, or what was done without one. */
export function titleOf({ delivery, task }: ActivityRow): string {
  if (task?.serviceAction) return actionText(task.serviceAction);
  const [line = ""] = (delivery?.commit_message || task?.message || "").split("\n");
  return (
    visible(line || delivery?.ref || delivery?.event || shortRef(task?.ref ?? "")) || t("activity.unnamed")
  );
}

/** The page of what a row ended with. */
function hrefOf({ delivery, task, isBuilt }: ActivityRow): string {
  return task !== null && (isBuilt || delivery === null)
    ? `/tasks/${task.id}`
    : `/deliveries/${delivery?.id ?? 0}`;
}

/** One line: how far it got, what changed, of which project, where it ended, and when. Numbers are shown on demand. */
export function Row({
  row,
  hasProject,
  isSelected = false,
  onSelect,
}: {
  row: ActivityRow;
  /** The list is of several projects. */
  hasProject: boolean;
  isSelected?: boolean;
  /** Absent: it cannot be selected. */
  onSelect?: () => void;
}) {
  const { outcome, delivery, task, isBuilt } = row;
  const title = titleOf(row);
  const end = endOf(row);
  const own = isBuilt ? task : null;
  return (
    <li className="activity-row" data-selected={isSelected || undefined}>
      {onSelect === undefined ? (
        <span />
      ) : (
        <Checkbox
          size="xs"
          checked={isSelected}
          onChange={onSelect}
          aria-label={t("activity.select", { title })}
        />
      )}
      <div className="activity-state">
        <StateLabel state={outcome} text={own && hasRunNothing(own) ? t("tasks.nothingRan") : undefined} />
        <Path row={row} />
      </div>
      <div className="activity-line">
        <Link href={hrefOf(row)} className="activity-title cut" title={title}>
          {title}
        </Link>
        {own && <TaskMarks task={own} />}
        {delivery !== null && delivery.replay_of !== null && (
          <Mark kind="replay" text={t("deliveries.replayMark", { id: String(delivery.replay_of) })} />
        )}
      </div>
      <div className="activity-facts">
        <Facts row={row} hasProject={hasProject} />
        {end !== "" && (
          <span className={own?.waiting === undefined ? "reason cut" : "waiting cut"} title={end}>
            {end}
          </span>
        )}
        <Numbers row={row} />
      </div>
      <div className="activity-when">
        {own ? <TaskMoment task={own} /> : <Moment at={row.at} />}
        {own !== null && own.startedAt !== null && own.state !== "queued" && (
          <>
            {" · "}
            <Worked task={own} from={own.startedAt} isRough />
          </>
        )}
      </div>
    </li>
  );
}

/** Where it happened. */
function Facts({ row: { delivery, task }, hasProject }: { row: ActivityRow; hasProject: boolean }) {
  const projectId = delivery?.project_id ?? task?.projectId ?? 0;
  const project =
    delivery?.project_name || task?.projectName || t("project.unnamed", { id: String(projectId) });
  const ref = delivery?.ref || shortRef(task?.ref ?? "");
  return (
    <>
      {hasProject && projectId === 0 && <span>{t("deliveries.noProject")}</span>}
      {hasProject && projectId !== 0 && (
        <Link href={`/projects/${projectId}`} className="foreign cut">
          {visible(project)}
        </Link>
      )}
      {delivery !== null && delivery.environment !== "" && <span>{delivery.environment}</span>}
      {ref !== "" && (
        <span className="cut commit-ref" title={visible(ref)}>
          {visible(ref)}
        </span>
      )}
    </>
  );
}

/** Which commit, by whom, and the pages of delivery and task. */
function Numbers({ row: { delivery, task } }: { row: ActivityRow }) {
  const commit = delivery?.commit || task?.commit || "";
  return (
    <div className="activity-more">
      {commit !== "" && <span className="mono">{visible(shortCommit(commit))}</span>}
      <By row={{ delivery, task }} />
      {delivery !== null && (
        <Link href={`/deliveries/${delivery.id}`} className="nowrap">
          {t("deliveries.one", { id: String(delivery.id) })}
          {delivery.count > 1 && ` (×${delivery.count})`}
        </Link>
      )}
      {task !== null && (
        <Link href={`/tasks/${task.id}`} className="nowrap">
          {t("deliveries.taskNumber", { id: String(task.id) })}
        </Link>
      )}
    </div>
  );
}

function By({ row: { delivery, task } }: { row: Pick<ActivityRow, "delivery" | "task"> }) {
  const author = visible(delivery?.author ?? "");
  // Nobody reported the push: who pushed is not known.
  if (delivery?.remote_ip === "poll")
    return (
      <span className="foreign cause">{t("tasks.polled", { name: author || t("tasks.unknownUser") })}</span>
    );
  if (task !== null) return <Cause task={task} />;
  return author === "" ? null : <span className="foreign cut">{author}</span>;
}

/** In words where it ended, or what it waits for. A success needs none. */
function endOf({ delivery, task, isBuilt }: ActivityRow): string {
  if (delivery !== null && (task === null || !isBuilt))
    return reasonIn(delivery.reason, delivery.reason_parts);
  if (task === null) return "";
  if (task.waiting !== undefined) return reasonIn(task.waiting, task.waitingParts ?? []);
  if (task.queuePosition === 1) return t("tasks.next");
  if (task.queuePosition !== undefined) return t("tasks.place", { place: task.queuePosition });
  const current = task.stages.find(({ state }) => state === "running");
  if (current !== undefined) return current.name;
  return reasonIn(task.reason, task.reasonParts);
}
