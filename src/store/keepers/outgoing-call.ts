import { type SqlBool, sql } from "kysely";
import type { CallAddress, OutgoingCall, OutgoingCallKeeper } from "../../model/outgoing-call.ts";
import { inTransaction } from "../query/keeper-call.ts";
import { plain, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";

const calls = table<OutgoingCall, "outgoing_calls">("outgoing_calls", {
  id: plain(),
  projectId: plain(),
  kind: plain(),
  subject: plain(),
  event: plain(),
  url: plain(),
  targetId: plain(),
  messageId: plain(),
  proof: plain(),
  body: plain(),
  traceparent: plain(),
  attempts: plain(),
  nextTryAt: time,
  createdAt: time,
});

/** No call waits longer for its next attempt. A later time was stored before a clock was set back, so the call is due. */
const longestWaitMs = 15 * 60_000;

export function buildOutgoingCallKeeper(scope: Scope): OutgoingCallKeeper {
  const { db } = scope;
  const count = async () => {
    const { waiting } = await db
      .selectFrom("outgoing_calls")
      .select((eb) => eb.fn.countAll<number>().as("waiting"))
      .executeTakeFirstOrThrow();
    return waiting;
  };

  return {
    add: inTransaction(async (call, { total, perTarget }) => {
      const replaced = call.subject === null ? [] : await deleteSubject(scope, call.subject);
      const ofTarget = await countOf(scope, call.projectId, call);
      const ofAll = await count();
      const none = { call: addressOf(call), id: null, dropped: null, replaced };
      if (ofTarget >= perTarget) return none;
      const dropped = ofAll < total ? null : await makePlace(scope, call.projectId);
      if (ofAll >= total && dropped === null) return none;
      const { id } = await db
        .insertInto("outgoing_calls")
        .values(calls.insert(call))
        .returning("id")
        .executeTakeFirstOrThrow();
      return { ...none, id, dropped: dropped && addressOf(dropped) };
    }),
    async takeDue(now, until, limit, { perProject, except } = { perProject: limit, except: [] }) {
      const isDue = sql<SqlBool>`(next_try_at <= ${now.getTime()} or next_try_at > ${now.getTime() + longestWaitMs})`;
      const ranked = db
        .selectFrom("outgoing_calls")
        .select(["id", "next_try_at"])
        .select(sql<number>`row_number() over (partition by project_id order by next_try_at)`.as("place"))
        .where(isDue)
        .where((eb) => eb.not(scope.dialect.isAmong("project_id", except)))
        .as("ranked");
      const due = db
        .selectFrom(ranked)
        .select("id")
        .where("place", "<=", perProject)
        .orderBy("next_try_at")
        .limit(limit);
      // Checked again in the update itself: another instance may have taken the call in between.
      const rows = await db
        .updateTable("outgoing_calls")
        .set((eb) => ({ attempts: eb("attempts", "+", 1), next_try_at: until.getTime() }))
        .where("id", "in", due)
        .where(isDue)
        .returningAll()
        .execute();
      return rows.map(calls.read).sort((a, b) => a.id - b.id);
    },
    takeFirst: (id, until) => calls.change(scope, { id, attempts: 0 }, { attempts: 1, nextTryAt: until }),
    putOff: async ({ id, attempts }, nextTryAt) =>
      (await calls.change(scope, { id, attempts }, { nextTryAt })) !== null,
    async nextDue() {
      const row = await db
        .selectFrom("outgoing_calls")
        .select((eb) => eb.fn.min("next_try_at").as("at"))
        .executeTakeFirst();
      return row === undefined || row.at === null ? null : new Date(row.at);
    },
    async delete(id) {
      await calls.delete(scope, { id });
    },
    count,
  };
}

function addressOf({ projectId, kind, subject, targetId, url }: CallAddress): CallAddress {
  return { projectId, kind, subject, targetId, url };
}

const receiverColumn = sql<string>`coalesce(target_id, url)`;

function deleteSubject({ db }: Scope, subject: string): Promise<{ id: number; attempts: number }[]> {
  return db
    .deleteFrom("outgoing_calls")
    .where("subject", "=", subject)
    .returning(["id", "attempts"])
    .execute();
}

type Receiver = Pick<OutgoingCall, "url" | "targetId">;

/** The calls of a project, or the calls to one receiver: a target, or an address if there is no target. */
async function countOf({ db }: Scope, projectId: number, receiver?: Receiver): Promise<number> {
  const { waiting } = await db
    .selectFrom("outgoing_calls")
    .select((eb) => eb.fn.countAll<number>().as("waiting"))
    .where("project_id", "=", projectId)
    .$if(receiver !== undefined, (query) =>
      query.where(receiverColumn, "=", receiver?.targetId ?? receiver?.url ?? ""),
    )
    .executeTakeFirstOrThrow();
  return Number(waiting);
}

/**
 * Deletes the oldest call to the busiest address of the project with the most calls, unless the requesting project
 * would then have more, so that dead addresses of one project do not block other projects.
 */
async function makePlace(scope: Scope, projectId: number): Promise<OutgoingCall | null> {
  const { db } = scope;
  const waiting = sql<number>`count(*)`.as("waiting");
  const heaviest = await db
    .selectFrom("outgoing_calls")
    .select(["project_id", waiting])
    .groupBy("project_id")
    .orderBy("waiting", "desc")
    .limit(1)
    .executeTakeFirst();
  if (heaviest === undefined) return null;
  if (Number(heaviest.waiting) <= (await countOf(scope, projectId)) + 1) return null;
  const busiest = await db
    .selectFrom("outgoing_calls")
    .select([receiverColumn.as("receiver"), waiting])
    .where("project_id", "=", heaviest.project_id)
    .groupBy("receiver")
    .orderBy("waiting", "desc")
    .limit(1)
    .executeTakeFirstOrThrow();
  const oldest = await db
    .selectFrom("outgoing_calls")
    .selectAll()
    .where("project_id", "=", heaviest.project_id)
    .where(receiverColumn, "=", busiest.receiver)
    .orderBy("id")
    .limit(1)
    .executeTakeFirstOrThrow();
  await calls.delete(scope, { id: oldest.id });
  return calls.read(oldest);
}
