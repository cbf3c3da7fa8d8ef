import { type Kysely, type Migration, sql } from "kysely";

/** How scripts of a project are run, and what a runner offers. Existing projects and runners work as before. */
const statements = [
  "alter table projects add column image text not null default ''",
  "alter table projects add column needs_container smallint not null default 0",
  "alter table projects add column isolation text not null default 'none'",
  "alter table projects add column cache text not null default '[]'",
  `alter table projects add column limits text not null
    default '{"memoryMb":null,"cpus":null,"processes":null,"nice":0}'`,
  "alter table runners add column isolation text not null default 'none'",
  "alter table runners add column containers smallint not null default 0",
];

export const execution: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
