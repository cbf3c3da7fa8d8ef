import { Tooltip } from "@mantine/core";
import type { DeliveryStatus } from "../../src/model/delivery.ts";
import type { ServiceState } from "../../src/model/service/service.ts";
import type { StageState, TaskState } from "../../src/model/task.ts";
import type { RouteState } from "../shapes.ts";
import { t } from "../text/text.ts";
import { durationText } from "../time-text.ts";

type Tone = "success" | "failed" | "running" | "waiting" | "warning" | "lost";

type State = TaskState | StageState | DeliveryStatus | ServiceState | `route_${RouteState["state"]}`;

const statesOf: Record<Tone, State[]> = {
  success: ["success", "accepted", "serving", "route_ok"],
  failed: ["failed", "down", "route_fault"],
  running: ["dispatched", "running", "merged", "starting"],
  waiting: ["queued", "canceled", "pending", "skipped", "ignored", "stopped", "route_waiting"],
  warning: ["canceling", "waiting", "timeout", "rejected", "unhealthy", "restarting", "route_removed"],
  lost: ["lost", "unknown", "route_unknown"],
};

export const toneOf = Object.fromEntries(
  Object.entries(statesOf).flatMap(([tone, states]) => states.map((state) => [state, tone])),
) as Record<State, Tone>;

/** A dot for the eye and a word for everybody: colour is never the only sign. */
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
    <span
      className="state"
      data-tone={text === undefined ? toneOf[state] : "waiting"}
      data-state={state}
      data-strong={strong || undefined}
    >
      <span className="state-dot" aria-hidden="true" />
      {text ?? t(`state.${state}`)}
    </span>
  );
}

interface RailStage {
  name: string;
  state: StageState;
  startedAt: string | null;
  finishedAt: string | null;
}

/** The stages of a task as sections of a slip: which are done, which runs, where it stopped. */
export function StageRail({ stages }: { stages: RailStage[] }) {
  const text = stages
    .map(({ name, state }) => t("tasks.stage", { stage: name, state: t(`state.${state}`) }))
    .join(", ");
  return (
    <Tooltip label={stages.map(stageText).join(" · ")}>
      <span className="rail" role="img" aria-label={text}>
        {stages.map((stage) => (
          <span key={stage.name} data-tone={toneOf[stage.state]} data-state={stage.state} />
        ))}
      </span>
    </Tooltip>
  );
}

function stageText(stage: RailStage): string {
  const values = { stage: stage.name, state: t(`state.${stage.state}`) };
  if (stage.startedAt === null || stage.finishedAt === null) return t("tasks.stage", values);
  const duration = durationText(Date.parse(stage.finishedAt) - Date.parse(stage.startedAt));
  return t("tasks.stageIn", { ...values, duration });
}
