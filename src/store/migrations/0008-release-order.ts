import { type Kysely, type Migration, sql } from "kysely";

/**
 * The place of each release in the order of first deployments. Which release a stored one replaced was not recorded: it is
 * the one that was first deployed before it. A release that a rollback had built again has the place of the original.
 */
export function releaseOrder(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      await sql`alter table releases add column place bigint not null default 0`.execute(db);
      await sql`alter table releases add column replaced_place bigint not null default 0`.execute(db);
      await sql`create index releases_place on releases (project_id, place)`.execute(db);
      await sql`with recursive served as (
          select releases.task_id, releases.project_id, coalesce(tasks.finished_at, releases.deployed_at) as first_at,
            tasks.rollback_to
          from releases join tasks on tasks.id = releases.task_id where releases.state <> 'candidate'),
        originals as (
          select served.task_id, row_number() over (
            partition by served.project_id order by served.first_at, served.task_id) as place
          from served where served.rollback_to is null
            or not exists (select 1 from served as original where original.task_id = served.rollback_to)),
        placed (task_id, place) as (
          select task_id, place from originals
          union all
          select served.task_id, placed.place from served join placed on placed.task_id = served.rollback_to)
        update releases set place = placed.place, replaced_place = placed.place - 1
        from placed where placed.task_id = releases.task_id`.execute(db);
    },
  };
}
