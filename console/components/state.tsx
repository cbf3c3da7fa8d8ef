import type { ReactNode } from "react";
import type { DeliveryStatus } from "../../src/model/delivery.ts";
import type { ServiceState } from "../../src/model/service/service.ts";
import { skipCauseOf } from "../../src/model/stage/skip-cause.ts";
import type { StageState, TaskState } from "../../src/model/task.ts";
import type { RouteState, Task } from "../shapes.ts";
import { t } from "../text/text.ts";

type Tone = "success" | "failed" | "running" | "waiting" | "warning" | "lost";

type State = TaskState | StageState | DeliveryStatus | ServiceState | `route_${RouteState["state"]}`;

/** Amber (`warning`) is for what somebody has to act on now, so nothing that is over has it. */
const statesOf: Record<Tone, State[]> = {
  success: ["success", "accepted", "serving", "route_ok"],
  failed: ["failed", "timeout", "rejected", "down", "route_fault"],
  running: ["dispatched", "running", "canceling", "merged", "starting"],
  waiting: [
    "queued",
    "canceled",
    "pending",
    "skipped",
    "ignored",
    "stopped",
    "route_waiting",
    "route_removed",
  ],
  warning: ["waiting", "unhealthy", "restarting"],
  lost: ["lost", "unknown", "route_unknown"],
};

export const toneOf = Object.fromEntries(
  Object.entries(statesOf).flatMap(([tone, states]) => states.map((state) => [state, tone])),
) as Record<State, Tone>;

/** A dot for the eye and a word for everybody: colour is never the only sign. */
export function Toned({
  tone,
  state,
  strong = false,
  children,
}: {
  tone: Tone;
  state?: State;
  strong?: boolean;
  children: ReactNode;
}) {
  return (
    <span className="state" data-tone={tone} data-state={state} data-strong={strong || undefined}>
      <span className="state-dot" aria-hidden="true" />
      {children}
    </span>
  );
}

/** The same for a state of the server. */
export function StateLabel({
  state,
  text,
  strong = false,
}: {
  state: keyof typeof toneOf;
  /** In place of the name of the state, without its colour. */
  text?: string | undefined;
  strong?: boolean;
}) {
  return (
    <Toned tone={text === undefined ? toneOf[state] : "waiting"} state={state} strong={strong}>
      {text ?? t(`state.${state}`)}
    </Toned>
  );
}

type Stage = Task["stages"][number];

/** The state of a stage, or of a step in it: of a skipped one also why. */
export function stageStateText(task: Task, stage: Stage, { state }: Pick<Stage, "state"> = stage): string {
  return state === "skipped" ? t(`tasks.skip_${skipCauseOf(task, stage)}`) : t(`state.${state}`);
}
