import { type RawBuilder, type SqlBool, sql } from "kysely";

/** Text for `like … escape '\'` that matches itself only. */
export function likePattern(text: string): string {
  return text.replaceAll(/[\\%_]/g, "\\$&");
}

/** Whether a column contains the text, as it is or in any case of its ASCII letters: SQLite knows no other case. */
export function containsText(column: string, text: string): RawBuilder<SqlBool> {
  const pattern = `%${likePattern(text)}%`;
  const name = sql.ref(column);
  return sql<SqlBool>`(lower(${name}) like ${pattern.toLowerCase()} escape '\\' or ${name} like ${pattern} escape '\\')`;
}
