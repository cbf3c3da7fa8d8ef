import { answerOf, api } from "../../api.ts";
import type { ActivityRow } from "../../shapes.ts";

export type BulkAction = "rerun" | "cancel" | "replay";
/** Why an action does not apply to a row. */
export type Obstacle =
  | "noTask"
  | "joined"
  | "unfinished"
  | "ended"
  | "noDelivery"
  | "noProject"
  | "unsigned"
  | "older";

const cancelable = ["queued", "dispatched", "running"];
const unfinished = [...cancelable, "canceling", "waiting"];

/** The selected rows, newest first, that an action applies to, and why it does not apply to the others. */
export function applicable(
  action: BulkAction,
  rows: readonly ActivityRow[],
): { able: ActivityRow[]; obstacles: Map<Obstacle, number> } {
  const able: ActivityRow[] = [];
  const obstacles = new Map<Obstacle, number>();
  for (const row of rows) {
    const obstacle = action === "replay" ? replayObstacle(row, able) : taskObstacle(action, row);
    if (obstacle === null) able.push(row);
    else obstacles.set(obstacle, (obstacles.get(obstacle) ?? 0) + 1);
  }
  return { able, obstacles };
}

function taskObstacle(action: "rerun" | "cancel", { task, isBuilt }: ActivityRow): Obstacle | null {
  if (task === null) return "noTask";
  if (!isBuilt) return "joined";
  if (action === "cancel") return cancelable.includes(task.state) ? null : "ended";
  return unfinished.includes(task.state) ? "unfinished" : null;
}

/** Of each ref only the newest is replayed: an older one would be deployed after it. */
function replayObstacle({ delivery }: ActivityRow, newer: readonly ActivityRow[]): Obstacle | null {
  if (delivery === null) return "noDelivery";
  if (delivery.project_id === 0) return "noProject";
  if (delivery.code === "signature_invalid") return "unsigned";
  const isSame = (row: ActivityRow) =>
    row.delivery?.project_id === delivery.project_id && row.delivery.ref === delivery.ref;
  return delivery.ref !== "" && newer.some(isSame) ? "older" : null;
}

/** Acts on the rows one after the other, the oldest first. */
export async function actOnRows(
  action: BulkAction,
  rows: readonly ActivityRow[],
): Promise<{ done: number; problems: unknown[] }> {
  const problems: unknown[] = [];
  for (const row of rows.toReversed()) await actOn(action, row).catch((problem) => problems.push(problem));
  return { done: rows.length - problems.length, problems };
}

async function actOn(action: BulkAction, { delivery, task }: ActivityRow): Promise<unknown> {
  if (action === "replay")
    return answerOf(
      api.webhooks.deliveries[":id"].replay.$post({
        param: { id: delivery?.id ?? 0 },
        json: { force: false },
      }),
    );
  const param = { id: task?.id ?? 0 };
  return action === "rerun"
    ? answerOf(api.tasks[":id"].rerun.$post({ param }))
    : answerOf(api.tasks[":id"].cancel.$post({ param }));
}
