import { type Kysely, type Migration, sql } from "kysely";

/** The images that the services of a release run. */
export function releaseImages(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      await sql`alter table releases add column images text not null default '{}'`.execute(db);
    },
  };
}
