import { type Kysely, type Migration, sql } from "kysely";

/** Releases whose service ended by itself. Of existing ones, those that exited and that no later rollback has started again. */
const statements = [
  "alter table releases add column ended_at bigint",
  `update releases set ended_at = deployed_at
    where task_id in (select task_id from service_outputs where has_exited = 1)
    and task_id not in (select rollback_to from tasks where rollback_to is not null and state = 'success')
    and task_id not in (select live_task_id from projects where live_task_id is not null)`,
];

export const endedReleases: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
