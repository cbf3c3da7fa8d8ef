import { Tooltip } from "@mantine/core";
import type { DeliveryStatus } from "../../src/model/delivery.ts";
import type { StageState, TaskState } from "../../src/model/task.ts";
import { t } from "../text/text.ts";
import { durationText } from "../time-text.ts";

type Tone = "success" | "failed" | "running" | "waiting" | "warning" | "lost";

const toneOf: Record<TaskState | StageState | DeliveryStatus, Tone> = {
  queued: "waiting",
  dispatched: "running",
  running: "running",
  canceling: "warning",
  waiting: "warning",
  success: "success",
  failed: "failed",
  canceled: "waiting",
  timeout: "warning",
  lost: "lost",
  pending: "waiting",
  skipped: "waiting",
  accepted: "success",
  merged: "running",
  ignored: "waiting",
  rejected: "warning",
};

/** A dot for the eye and a word for everybody: colour is never the only sign. */
export function StateLabel({ state, strong = false }: { state: keyof typeof toneOf; strong?: boolean }) {
  return (
    <span className="state" data-tone={toneOf[state]} data-state={state} data-strong={strong || undefined}>
      <span className="state-dot" aria-hidden="true" />
      {t(`state.${state}`)}
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
  const text = stages.map((stage) => `${stage.name}: ${stage.state}`).join(", ");
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
  if (stage.startedAt === null || stage.finishedAt === null) return `${stage.name} ${stage.state}`;
  return `${stage.name} ${stage.state} in ${durationText(Date.parse(stage.finishedAt) - Date.parse(stage.startedAt))}`;
}
