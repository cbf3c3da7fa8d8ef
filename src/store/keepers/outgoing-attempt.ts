import type { OutgoingAttempt, OutgoingAttemptKeeper } from "../../model/outgoing-attempt.ts";
import { inTransaction } from "../query/keeper-call.ts";
import { flag, plain, reasonField, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";

const attempts = table<OutgoingAttempt, "outgoing_attempts">("outgoing_attempts", {
  id: plain(),
  projectId: plain(),
  at: time,
  kind: plain(),
  event: plain(),
  targetId: plain(),
  host: plain(),
  attempt: plain(),
  isDelivered: flag,
  status: plain(),
  fault: reasonField,
  response: plain(),
});

export function buildOutgoingAttemptKeeper(scope: Scope): OutgoingAttemptKeeper {
  const { db } = scope;
  return {
    add: inTransaction(async (attempt, keep) => {
      await db.insertInto("outgoing_attempts").values(attempts.insert(attempt)).execute();
      const surplus = db
        .selectFrom("outgoing_attempts")
        .select("id")
        .where("project_id", "=", attempt.projectId)
        .orderBy("id", "desc")
        .limit(1)
        .offset(keep);
      await db
        .deleteFrom("outgoing_attempts")
        .where("project_id", "=", attempt.projectId)
        .where("id", "<=", surplus)
        .execute();
    }),
    ofProject: (projectId) => attempts.all(scope, { projectId }, ["id desc"]),
  };
}
