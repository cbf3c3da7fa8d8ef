import { type Kysely, type Migration, sql } from "kysely";
import { convertJson } from "./convert-json.ts";

interface OldStage {
  script: string;
  timeout: number | null;
  directory?: string;
  image?: string;
  network?: "none";
}

type OldStages = Record<"build" | "deploy" | "start", OldStage> & {
  start: {
    healthCheck?: unknown;
    previous?: string;
    settleSeconds?: number;
    log?: string;
    switch?: string;
  };
};

/** Stages become pipelines: each stage with a setting has one step. Deploys of these projects may write to their release. */
export function pipeline(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      for (const [table, key] of [
        ["projects", "id"],
        ["releases", "task_id"],
      ] as const) {
        await sql`alter table ${sql.table(table)} rename column stages to pipeline`.execute(db);
        await convertJson(db, table, key, "pipeline", (stages) => pipelineOf(stages as OldStages));
      }
      await convertJson(db, "tasks", "id", "approval", (approval) => {
        const { pinned, ...rest } = approval as { pinned: { stages: OldStages } };
        const { stages, ...others } = pinned;
        return { ...rest, pinned: { ...others, pipeline: pipelineOf(stages) } };
      });
      await sql`alter table project_secrets add column form text not null default 'variable'`.execute(db);
    },
  };
}

function pipelineOf({ build, deploy, start }: OldStages) {
  const { healthCheck = null, previous = "keep", settleSeconds = 5, log = "", switch: script = "" } = start;
  const rules = { healthCheck, previous, settleSeconds, log, switch: script };
  const isPlain =
    healthCheck === null && previous === "stop-first" && settleSeconds === 5 && log === "" && script === "";
  return {
    build: isEmpty(build) ? [] : [stepOf("build", build)],
    deploy: isEmpty(deploy) ? [] : [stepOf("deploy", deploy)],
    start: isPlain && isEmpty(start) ? [] : [{ ...stepOf("start", start), ...rules }],
    data: [],
    scratch: [],
    sealed: false,
  };
}

function isEmpty({ script, timeout, directory = "", image = "", network }: OldStage): boolean {
  return script === "" && timeout === null && directory === "" && image === "" && network === undefined;
}

function stepOf(name: string, { script, timeout, directory = "", image = "", network }: OldStage) {
  return { script, timeout, directory, image, network: network ?? "bridge", host: false, name };
}
