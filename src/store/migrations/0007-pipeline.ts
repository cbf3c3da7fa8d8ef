import { type Kysely, type Migration, sql } from "kysely";

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

const rowsAtOnce = 200;

/** Stages become pipelines: each stage with a setting has one step. Deploys of these projects may write to their release. */
export function pipeline(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      for (const [table, key] of [
        ["projects", "id"],
        ["releases", "task_id"],
      ] as const) {
        await sql`alter table ${sql.table(table)} rename column stages to pipeline`.execute(db);
        await convert(db, table, key, "pipeline", (stages) => pipelineOf(stages as OldStages));
      }
      await convert(db, "tasks", "id", "approval", (approval) => {
        const { pinned, ...rest } = approval as { pinned: { stages: OldStages } };
        const { stages, ...others } = pinned;
        return { ...rest, pinned: { ...others, pipeline: pipelineOf(stages) } };
      });
      await sql`alter table project_secrets add column form text not null default 'variable'`.execute(db);
    },
  };
}

/** Converts the JSON of a column, some rows at a time. */
async function convert(
  db: Kysely<unknown>,
  table: string,
  key: string,
  column: string,
  change: (value: unknown) => unknown,
): Promise<void> {
  const [named, id, value] = [sql.table(table), sql.ref(key), sql.ref(column)];
  for (let last = -1; ; ) {
    const { rows } = await sql<{
      id: number;
      value: string;
    }>`select ${id} as id, ${value} as value from ${named}
      where ${id} > ${last} and ${value} is not null order by ${id} limit ${sql.lit(rowsAtOnce)}`.execute(db);
    for (const row of rows) {
      const changed = JSON.stringify(change(JSON.parse(row.value)));
      await sql`update ${named} set ${value} = ${changed} where ${id} = ${row.id}`.execute(db);
    }
    const end = rows.at(-1);
    if (end === undefined) return;
    last = Number(end.id);
  }
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
