import { sql } from "kysely";
import type { Scope } from "../query/scope.ts";

/** About the size of a large delivery. */
const probeLength = 128 * 1024;
const probeName = "write probe";

/** Maintenance that the store does itself. */
export function buildUpkeep({ db }: Scope) {
  return {
    async ping(): Promise<void> {
      await sql`select 1`.execute(db);
    },
    /** Writes as many bytes as a large delivery, and deletes them. */
    async probeWrite(): Promise<void> {
      const value = "x".repeat(probeLength);
      await db
        .insertInto("meta")
        .values({ name: probeName, value })
        .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
        .execute();
      await db.deleteFrom("meta").where("name", "=", probeName).execute();
    },
    /**
     * Shifts all pending times (debounce windows of tasks, the deliveries that opened them, outgoing calls, polls) and the times
     * at which runners were last seen, reported services or sent a part of a transfer. Leases and timeouts use elapsed time and need no shift.
     */
    async shiftPendingTimes(ms: number): Promise<void> {
      const shift = Math.round(ms);
      const inWindow = db
        .selectFrom("tasks")
        .where("state", "=", "queued")
        .where("not_before", "is not", null);
      await db
        .updateTable("deliveries")
        .set((eb) => ({ created_at: eb("created_at", "+", shift) }))
        .where("id", "in", inWindow.select("delivery_id").where("delivery_id", "is not", null))
        .execute();
      await db
        .updateTable("tasks")
        .set((eb) => ({ not_before: eb("not_before", "+", shift), created_at: eb("created_at", "+", shift) }))
        .where("id", "in", inWindow.select("id"))
        .execute();
      await db
        .updateTable("runners")
        .set((eb) => ({
          last_seen_at: eb("last_seen_at", "+", shift),
          gone_since: eb("gone_since", "+", shift),
        }))
        .execute();
      await db
        .updateTable("services")
        .set((eb) => ({
          reported_at: eb("reported_at", "+", shift),
          recovering_since: eb("recovering_since", "+", shift),
        }))
        .execute();
      await db
        .updateTable("outgoing_calls")
        .set((eb) => ({
          next_try_at: eb("next_try_at", "+", shift),
          created_at: eb("created_at", "+", shift),
        }))
        .execute();
      await db
        .updateTable("transfers")
        .set((eb) => ({ created_at: eb("created_at", "+", shift), moved_at: eb("moved_at", "+", shift) }))
        .execute();
      await db
        .updateTable("polls")
        .set((eb) => ({ next_at: eb("next_at", "+", shift), held_until: eb("held_until", "+", shift) }))
        .execute();
    },
  };
}
export type Upkeep = ReturnType<typeof buildUpkeep>;
