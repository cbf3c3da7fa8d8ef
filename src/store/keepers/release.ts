import type { Release, ReleaseKeeper, ServiceOutput } from "../../model/release.ts";
import { inTransaction } from "../query/keeper-call.ts";
import { flag, json, optional, plain, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";
import { pipelineField } from "./pipeline-field.ts";

const releases = table<Release, "releases">("releases", {
  taskId: plain(),
  projectId: plain(),
  attempt: plain(),
  runnerId: plain(),
  state: plain(),
  ref: plain(),
  commit: plain(),
  message: plain(),
  author: plain(),
  pipeline: pipelineField,
  env: json(),
  images: json(),
  promotedFrom: plain(),
  digest: plain(),
  bytes: plain(),
  place: plain(),
  replacedPlace: plain(),
  deployedAt: time,
  endedAt: optional(time),
  rolledBackAt: optional(time),
});

const outputs = table<ServiceOutput & { taskId: number }, "service_outputs">("service_outputs", {
  taskId: plain(),
  output: plain(),
  hasExited: flag,
});

export function buildReleaseKeeper(scope: Scope): ReleaseKeeper {
  const { db } = scope;
  return {
    async put(release) {
      await releases.put(scope, ["taskId"], release);
    },
    ofTask: (taskId) => releases.one(scope, { taskId }),
    async ofProject(projectId, limit) {
      const rows = await db
        .selectFrom("releases")
        .selectAll()
        .where("project_id", "=", projectId)
        .where("state", "<>", "candidate")
        .orderBy("place", "desc")
        .orderBy("task_id", "desc")
        .limit(limit)
        .execute();
      return rows.map(releases.read);
    },
    async servedLast(projectId) {
      const row = await db
        .selectFrom("releases")
        .selectAll()
        .where("project_id", "=", projectId)
        .where("state", "<>", "candidate")
        .orderBy("deployed_at", "desc")
        .orderBy("task_id", "desc")
        .limit(1)
        .executeTakeFirst();
      return row === undefined ? null : releases.read(row);
    },
    async update(taskId, change) {
      await releases.change(scope, { taskId }, change);
    },
    keepOnly: inTransaction(async (projectId, runnerId, kept) => {
      const ofRunner = db
        .updateTable("releases")
        .where("project_id", "=", projectId)
        .where("runner_id", "=", runnerId)
        .where("state", "<>", "candidate");
      await ofRunner.set({ state: "gone", bytes: null }).execute();
      for (const { taskId, bytes, digest } of kept)
        await ofRunner
          // The first report counts: a later one would be about files that were changed since.
          .set((row) => ({
            state: "kept",
            bytes,
            digest: row.fn.coalesce("digest", row.val(digest ?? null)),
          }))
          .where("task_id", "=", taskId)
          .execute();
    }),
    async delete(taskId) {
      await releases.delete(scope, { taskId });
    },
    async output(taskId) {
      const found = await outputs.one(scope, { taskId });
      return found && { output: found.output, hasExited: found.hasExited };
    },
  };
}
