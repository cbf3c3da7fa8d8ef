import type { OutgoingAttempt, OutgoingAttemptKeeper } from "../../model/outgoing-attempt.ts";
import { flag, plain, reasonField, rowShape, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";

const shape = rowShape<OutgoingAttempt, "outgoing_attempts">({
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

export function buildOutgoingAttemptKeeper({ db }: Scope): OutgoingAttemptKeeper {
  return {
    async add(attempt, keep) {
      await db.insertInto("outgoing_attempts").values(shape.insert(attempt)).execute();
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
    },
    async ofProject(projectId) {
      const rows = await db
        .selectFrom("outgoing_attempts")
        .selectAll()
        .where("project_id", "=", projectId)
        .orderBy("id", "desc")
        .execute();
      return rows.map(shape.read);
    },
  };
}
