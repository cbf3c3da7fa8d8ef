import { type RawBuilder, sql } from "kysely";
import type { Dialect } from "./dialect.ts";

/** `workedMs` of the model for a row of tasks: null if it has not ended. */
export function workedTime({
  timeIn,
  textIn,
}: Pick<Dialect, "timeIn" | "textIn">): RawBuilder<number | null> {
  const asked = timeIn("approval", "requestedAt");
  const earlier = sql`cast(${textIn("approval", "earlierWaitMs")} as bigint)`;
  const answered = timeIn("approval", "at");
  const from = sql`case when ${asked} > started_at then ${asked} else started_at end`;
  const waited = sql`coalesce(${answered}, finished_at) - (${from})`;
  return sql`finished_at - started_at - coalesce(${earlier}, 0)
    - case when approval is null or ${asked} is null or ${waited} < 0 then 0 else ${waited} end`;
}
