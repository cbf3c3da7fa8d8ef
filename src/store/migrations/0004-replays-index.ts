import { type Kysely, type Migration, sql } from "kysely";

/** Finds the replays of a delivery. Only replays are in it, so that other deliveries cost no more. */
export function replaysIndex(): Migration {
  return {
    async up(db: Kysely<unknown>) {
      await sql`create index deliveries_replay on deliveries (replay_of, id) where replay_of is not null`.execute(
        db,
      );
    },
  };
}
