import { type RawBuilder, type SqlBool, sql } from "kysely";

/** Text for `like … escape '\'` that matches itself only. */
export function likePattern(text: string): string {
  return text.replaceAll(/[\\%_]/g, "\\$&");
}

/** Whether a column contains the text, in any case of its letters. */
export function containsText(column: string, text: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`lower(${sql.ref(column)}) like ${`%${likePattern(text.toLowerCase())}%`} escape '\\'`;
}
