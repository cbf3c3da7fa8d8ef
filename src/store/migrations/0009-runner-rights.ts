import { type Kysely, type Migration, sql } from "kysely";

/**
 * For which groups a runner works and which labels a group may use, and what a runner says of itself. Existing runners
 * work for all groups and existing groups use all labels, as before. Of earlier versions a project may name a failed
 * task as its live one: the last task that succeeded takes its place.
 */
const statements = [
  "alter table runners add column group_ids text not null default '[]'",
  "alter table runners add column offered_labels text",
  "alter table runners add column also_unlabelled smallint not null default 0",
  "alter table runners add column isolated smallint not null default 0",
  "alter table groups add column labels text",
  `update projects set live_task_id = (
      select max(tasks.id) from tasks where tasks.project_id = projects.id and tasks.state = 'success')
    where exists (select 1 from tasks where tasks.id = projects.live_task_id
      and tasks.state in ('failed', 'canceled', 'timeout', 'lost'))`,
];

export const runnerRights: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
