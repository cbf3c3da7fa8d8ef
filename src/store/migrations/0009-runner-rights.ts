import { type Kysely, type Migration, sql } from "kysely";

/**
 * The groups that a runner works for, the labels that a group may use, and the data that a runner reports. Existing
 * runners work for all groups and existing groups use all labels, as before. Earlier versions could store a failed task
 * as a project's live task: the last successful one replaces it.
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
