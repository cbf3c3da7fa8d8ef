import type { Release, ReleaseKeeper } from "../../model/release.ts";
import { json, optional, plain, rowShape, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";

const shape = rowShape<Release, "releases">({
  taskId: plain(),
  projectId: plain(),
  attempt: plain(),
  runnerId: plain(),
  state: plain(),
  ref: plain(),
  commit: plain(),
  message: plain(),
  author: plain(),
  stages: json(),
  env: json(),
  bytes: plain(),
  deployedAt: time,
  endedAt: optional(time),
});

export function buildReleaseKeeper({ db }: Scope): ReleaseKeeper {
  return {
    async put(release) {
      const row = shape.insert(release);
      await db
        .insertInto("releases")
        .values(row)
        .onConflict((conflict) => conflict.column("task_id").doUpdateSet(row))
        .execute();
    },
    async ofTask(taskId) {
      const row = await db
        .selectFrom("releases")
        .selectAll()
        .where("task_id", "=", taskId)
        .executeTakeFirst();
      return row === undefined ? null : shape.read(row);
    },
    async ofProject(projectId, limit) {
      const rows = await db
        .selectFrom("releases")
        .selectAll()
        .where("project_id", "=", projectId)
        .where("state", "<>", "candidate")
        .orderBy("deployed_at", "desc")
        .orderBy("task_id", "desc")
        .limit(limit)
        .execute();
      return rows.map(shape.read);
    },
    async update(taskId, change) {
      await db.updateTable("releases").set(shape.update(change)).where("task_id", "=", taskId).execute();
    },
    async keepOnly(projectId, runnerId, kept) {
      const ofRunner = db
        .updateTable("releases")
        .where("project_id", "=", projectId)
        .where("runner_id", "=", runnerId)
        .where("state", "<>", "candidate");
      await ofRunner.set({ state: "gone", bytes: null }).execute();
      for (const { taskId, bytes } of kept)
        await ofRunner.set({ state: "kept", bytes }).where("task_id", "=", taskId).execute();
    },
    async delete(taskId) {
      await db.deleteFrom("releases").where("task_id", "=", taskId).execute();
    },
    async setOutput(taskId, { output, hasExited }) {
      const row = { output, has_exited: hasExited ? 1 : 0 };
      await db
        .insertInto("service_outputs")
        .values({ task_id: taskId, ...row })
        .onConflict((conflict) => conflict.column("task_id").doUpdateSet(row))
        .execute();
    },
    async output(taskId) {
      const row = await db
        .selectFrom("service_outputs")
        .select(["output", "has_exited"])
        .where("task_id", "=", taskId)
        .executeTakeFirst();
      return row === undefined ? null : { output: row.output, hasExited: row.has_exited === 1 };
    },
  };
}
