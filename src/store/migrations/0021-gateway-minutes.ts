import { type Kysely, type Migration, sql } from "kysely";

/** The figures of the push gateways over the last day. The time comes first: it is what every query asks for. */
export const gatewayMinutes: Migration = {
  async up(db: Kysely<unknown>) {
    await sql
      .raw(
        `create table gateway_minutes (
          at bigint not null, gateway text not null, connections bigint not null, messages bigint not null,
          is_cluster smallint not null, primary key (at, gateway))`,
      )
      .execute(db);
  },
};
