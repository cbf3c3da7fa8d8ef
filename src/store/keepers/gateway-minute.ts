import { sql } from "kysely";
import type { GatewayMinute, GatewayMinuteKeeper } from "../../model/console/gateway-minute.ts";
import { inTransaction } from "../query/keeper-call.ts";
import { flag, plain, rowShape, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";

const shape = rowShape<GatewayMinute, "gateway_minutes">({
  at: time,
  gateway: plain(),
  connections: plain(),
  messages: plain(),
  isCluster: flag,
});

/** A day and the steps at its ends. */
const keptMs = 25 * 3_600_000;
const minuteMs = 60_000;

const greater = (column: "connections" | "messages") =>
  sql<number>`case when ${sql.ref(`excluded.${column}`)} > ${sql.ref(`gateway_minutes.${column}`)}
    then ${sql.ref(`excluded.${column}`)} else ${sql.ref(`gateway_minutes.${column}`)} end`;

export function buildGatewayMinuteKeeper({ db }: Scope): GatewayMinuteKeeper {
  return {
    record: inTransaction(async (minutes, now) => {
      if (minutes.length > 0)
        await db
          .insertInto("gateway_minutes")
          .values(minutes.map(shape.insert))
          .onConflict((conflict) =>
            conflict
              .columns(["at", "gateway"])
              .doUpdateSet({ connections: greater("connections"), messages: greater("messages") }),
          )
          .execute();
      await db
        .deleteFrom("gateway_minutes")
        .where((eb) =>
          eb.or([eb("at", "<", now.getTime() - keptMs), eb("at", ">", now.getTime() + minuteMs)]),
        )
        .execute();
    }),
    async between(from, to) {
      const rows = await db
        .selectFrom("gateway_minutes")
        .selectAll()
        .where("at", ">=", from.getTime())
        .where("at", "<=", to.getTime())
        .orderBy("at")
        .orderBy("gateway")
        .execute();
      return rows.map(shape.read);
    },
    async steps(from, to, stepMs) {
      const step = sql<number>`at - at % ${sql.lit(stepMs)}`;
      const rows = await db
        .selectFrom((eb) =>
          eb
            .selectFrom("gateway_minutes")
            .select((minute) => [
              "at",
              minute.fn.sum<number>("connections").as("connections"),
              sql<number>`sum(case is_cluster when 0 then messages else 0 end)
                + max(case is_cluster when 1 then messages else 0 end)`.as("messages"),
            ])
            .where("at", ">=", from.getTime())
            .where("at", "<=", to.getTime())
            .groupBy("at")
            .as("minutes"),
        )
        .select((eb) => [
          step.as("step"),
          eb.fn.max<number>("connections").as("connections"),
          eb.fn.sum<number>("messages").as("messages"),
        ])
        .groupBy(step)
        .orderBy(step)
        .execute();
      return rows.map((row) => ({
        at: new Date(Number(row.step)),
        connections: Number(row.connections),
        messages: Number(row.messages),
      }));
    },
  };
}
