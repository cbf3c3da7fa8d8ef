import { type Kysely, type Migration, sql } from "kysely";

/**
 * Earlier versions stored authors of any length. PostgreSQL refuses a very long one in the index of finished tasks, so
 * such a task could not end. Databases that are upgraded from before 0018 were corrected there.
 */
export const shortAuthors: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw("update tasks set author = substr(author, 1, 255) where length(author) > 255").execute(db);
  },
};
