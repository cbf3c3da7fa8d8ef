import { type Kysely, type Migration, sql } from "kysely";

/**
 * The isolation that an administrator believes a runner to have. Runners keep what they have reported; the word of the
 * local runner is that of the server. Whether a runner takes projects without labels is already in `also_unlabelled`.
 */
export function runnerRegistration(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      await sql`alter table runners rename column isolation to reported_isolation`.execute(db);
      await sql`alter table runners add column trusted_isolation text not null default 'none'`.execute(db);
      await sql`update runners set trusted_isolation
        = case when local = 1 then 'container' else reported_isolation end`.execute(db);
      await sql`alter table runners drop column isolated`.execute(db);
    },
  };
}
