import { type Kysely, type Migration, sql } from "kysely";
import { startOf, startStageDefaults } from "../../model/stage/start-stage.ts";
import { convertJson } from "./convert-json.ts";

type OldStart = typeof startStageDefaults & { name: string; host?: boolean };
type OldPipeline = { start: OldStart[] };

/** Start scripts become steps, or a service if they leave one in the background. */
export function startServices(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      await sql`alter table projects add column rollback_within integer not null default 10`.execute(db);
      for (const [table, key] of [
        ["projects", "id"],
        ["releases", "task_id"],
      ] as const)
        await convertJson(db, table, key, "pipeline", (pipeline) => converted(pipeline as OldPipeline));
      await convertJson(db, "tasks", "id", "approval", (approval) => {
        const { pinned, ...rest } = approval as { pinned: { pipeline: OldPipeline } };
        return { ...rest, pinned: { ...pinned, pipeline: converted(pinned.pipeline) } };
      });
    },
  };
}

/** `log` and `settleSeconds` say nothing any more, nor does `previous: keep`: the runner ends the service before. */
function converted({ start: [old], ...pipeline }: OldPipeline) {
  if (old === undefined) return { ...pipeline, start: [] };
  const { name, host = false, ...stage } = { ...startStageDefaults, ...old };
  const start = startOf(stage);
  if (!Array.isArray(start)) return { ...pipeline, start };
  const steps = start.map((step) => ({ ...step, name, host }));
  // Without a service, the script that pointed a proxy to it is a step of its own.
  const after = stage.switch.trim() === "" ? [] : [{ name: "switch", script: stage.switch, host }];
  return { ...pipeline, start: [...steps, ...after] };
}
