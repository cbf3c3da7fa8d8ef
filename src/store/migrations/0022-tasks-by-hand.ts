import { type Kysely, type Migration, sql } from "kysely";

/** The list of activity reads tasks without a delivery by time. A task of a push costs no entry in these. */
const statements = [
  "create index tasks_by_hand on tasks (created_at, id) where trigger_type = 'manual'",
  "create index tasks_project_by_hand on tasks (project_id, created_at, id) where trigger_type = 'manual'",
];

export function tasksByHand(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      for (const statement of statements) await sql.raw(statement).execute(db);
    },
  };
}
