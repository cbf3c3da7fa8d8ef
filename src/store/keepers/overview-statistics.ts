import { sql } from "kysely";
import type { RunStatistics } from "../../model/console/overview.ts";
import type { Scope } from "../query/scope.ts";
import { workedTime } from "../query/worked-time.ts";
import { isDeploy } from "./task-shape.ts";

/** A project with more runs than this in both periods is judged by the newest of them. */
const runsPerProject = 400;

interface StatisticsRow {
  project_id: number;
  is_current: number;
  runs: number;
  succeeded: number;
  median: number | string | null;
}

/** The median is the mean of the two middle rows, because SQLite has no function for it. */
export async function runStatistics(
  { db, dialect }: Scope,
  projectIds: number[],
  since: Date,
  before: Date,
): Promise<RunStatistics[]> {
  const newest = dialect.ofEach(
    projectIds,
    "tasks",
    (projectId) =>
      sql`select tasks.id from tasks where project_id = ${projectId} and ${isDeploy} order by tasks.id desc limit ${sql.lit(runsPerProject)}`,
  );
  const { rows } = await sql<StatisticsRow>`
    with recent as (
      select project_id, state, ${workedTime(dialect)} as duration,
        case when created_at >= ${since.getTime()} then 1 else 0 end as is_current
      from tasks where tasks.id in (${newest}) and created_at >= ${before.getTime()}
        and state in ('success', 'failed', 'timeout', 'lost')),
    placed as (
      select project_id, state, duration, is_current,
        row_number() over (partition by project_id, is_current, state order by duration) as place,
        count(*) over (partition by project_id, is_current, state) as in_state
      from recent)
    select project_id, is_current, count(*) as runs,
      sum(case when state = 'success' then 1 else 0 end) as succeeded,
      avg(case when state = 'success' and place in ((in_state + 1) / 2, (in_state + 2) / 2) then duration end) as median
    from placed group by project_id, is_current`.execute(db);
  return rows.map(({ project_id, is_current, runs, succeeded, median }) => ({
    projectId: project_id,
    isCurrent: is_current === 1,
    runs: Number(runs),
    succeeded: Number(succeeded),
    medianMs: median === null ? null : Math.round(Number(median)),
  }));
}
