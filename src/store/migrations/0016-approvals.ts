import { type Kysely, type Migration, sql } from "kysely";

/** Deploys that need approval. Existing projects need none. */
const statements = [
  `alter table projects add column deploy text not null
    default '{"approval":"none","branches":[],"notByPusher":false,"expiresAfterMinutes":4320}'`,
  "alter table tasks add column approval text",
  "create index tasks_waiting on tasks (project_id, id) where state = 'waiting'",
];

export const approvals: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
