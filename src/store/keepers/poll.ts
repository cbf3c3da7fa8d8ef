import type { Poll, PollKeeper } from "../../model/ref-tip.ts";
import { longRead } from "../query/keeper-call.ts";
import { optional, plain, reasonField, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";

const polls = table<Poll, "polls">("polls", {
  projectId: plain(),
  url: plain(),
  version: plain(),
  scope: plain(),
  heldBy: plain(),
  heldUntil: optional(time),
  lastAt: optional(time),
  nextAt: time,
  error: reasonField,
  note: reasonField,
});

const first: Pick<Poll, "url" | "version" | "scope" | "lastAt" | "error" | "note"> = {
  url: "",
  version: "",
  scope: "",
  lastAt: null,
  error: "",
  note: "",
};

export function buildPollKeeper(scope: Scope): PollKeeper {
  const { db } = scope;
  return {
    ofProject: (projectId) => polls.one(scope, { projectId }),
    due: longRead(async ({ now, latest }, hasFailed, limit) => {
      const rows = await db
        .selectFrom("webhook_configs")
        .leftJoin("polls", "polls.project_id", "webhook_configs.project_id")
        .select("webhook_configs.project_id as id")
        .where("webhook_configs.enabled", "=", 1)
        .where((eb) =>
          eb.or([
            eb("polls.project_id", "is", null),
            eb("polls.next_at", "<=", now.getTime()),
            eb("polls.next_at", ">", latest.getTime()),
          ]),
        )
        .where((eb) =>
          eb.or([eb("polls.held_until", "is", null), eb("polls.held_until", "<=", now.getTime())]),
        )
        .where((eb) => eb(eb.fn.coalesce("polls.error", eb.val("")), hasFailed ? "!=" : "=", ""))
        .orderBy("polls.next_at")
        .orderBy("webhook_configs.project_id")
        .limit(limit)
        .execute();
      return rows.map(({ id }) => id);
    }),
    async hold(projectId, holder, now, until) {
      const held = { heldBy: holder, heldUntil: until };
      await db
        .insertInto("polls")
        .values(polls.insert({ projectId, ...first, ...held, nextAt: now }))
        .onConflict((conflict) => conflict.column("project_id").doUpdateSet(polls.update(held)))
        .execute();
    },
    extend: async (projectId, heldBy, heldUntil) =>
      (await polls.change(scope, { projectId, heldBy }, { heldUntil })) !== null,
    async finish(projectId, result) {
      await polls.change(scope, { projectId }, { ...result, heldBy: null, heldUntil: null });
    },
    async makeDue(now, release) {
      const free = release ? { heldBy: null, heldUntil: null } : {};
      await db
        .updateTable("polls")
        .set(polls.update({ nextAt: now, ...free }))
        .execute();
    },
    async renew(projectId, now) {
      await polls.change(scope, { projectId }, { nextAt: now, heldBy: null, heldUntil: null });
    },
    async forget(projectId) {
      for (const table of ["polls", "ref_tips"] as const)
        await db
          .deleteFrom(table)
          .$if(projectId !== null, (query) => query.where("project_id", "=", projectId))
          .execute();
    },
  };
}
