import { type SqlBool, sql } from "kysely";
import { noApproval } from "../../model/approval/deploy-rule.ts";
import { plainExecution } from "../../model/execution.ts";
import { type ProjectKeeper, rollbackWithinDefault } from "../../model/project.ts";
import { newReason } from "../../reason/reason.ts";
import { fixedQuery } from "../query/fixed-query.ts";
import { containsText, likePattern } from "../query/like-pattern.ts";
import { orFault, type Scope } from "../query/scope.ts";
import { projects } from "./project-table.ts";
import { deleteLogRows } from "./task-log.ts";

const tasksPerBatch = 50;
/** A row can be a quarter of a megabyte. */
const logRowsPerBatch = 20;

const selectSecrets = fixedQuery(["id"], (db, { id }: { id: number }) =>
  db
    .selectFrom("project_secrets")
    .select(["name", "ciphertext", "scope", "form as as"])
    .where("project_id", "=", id)
    .orderBy("name"),
);

export function buildProjectKeeper(scope: Scope): ProjectKeeper {
  const { db, dialect } = scope;
  const faults = (name = "") => ({
    duplicate: newReason("exists", { noun: newReason("noun_project"), name }),
    missing: newReason("gone_group"),
  });

  return {
    create: (project) =>
      projects.create(
        scope,
        {
          ...plainExecution,
          needsContainer: false,
          deploy: noApproval,
          rollbackWithin: rollbackWithinDefault,
          publicUrl: "",
          allowedDomains: null,
          defaultNotify: true,
          diskMb: null,
          disk: null,
          ...project,
          liveTaskId: null,
          liveNote: "",
          homeRunnerId: null,
        },
        faults(project.name),
      ),
    byId: (id) => projects.one(scope, { id }),
    hold: (id) => projects.hold(scope, { id }),
    list({ ids, groupId, search }, request) {
      let found = db.selectFrom("projects");
      if (ids !== undefined) found = found.where(dialect.isAmong("id", ids));
      if (groupId !== undefined) found = found.where("group_id", "=", groupId);
      if (search !== undefined && search !== "") found = found.where(containsText("name", search));
      return projects.page(scope, found, request, ["name"]);
    },
    update: (id, change) => projects.change(scope, { id }, change, faults(change.name)),
    async setLive(id, live) {
      await projects.change(scope, { id }, live);
    },
    async setDisk(id, runnerId, disk) {
      await db
        .updateTable("projects")
        .set(projects.update({ disk }))
        .where("id", "=", id)
        .where((row) => row.or([row("home_runner_id", "is", null), row("home_runner_id", "=", runnerId)]))
        .execute();
    },
    deleteSomeTasks: (id) => deleteSomeTasks(scope, id),
    delete: async (id) => (await projects.delete(scope, { id })) > 0,
    async withStatusContext(context, exceptId, limit) {
      const held = `%${likePattern(JSON.stringify({ context }).slice(1, -1))},%`;
      const rows = await db
        .selectFrom("projects")
        .selectAll()
        .where(sql<SqlBool>`commit_status like ${held} escape '\\'`)
        .where("id", "!=", exceptId)
        .orderBy("id")
        .limit(limit)
        .execute();
      return rows.map(projects.read).filter((project) => project.commitStatus.context === context);
    },
    secrets: (id) => selectSecrets(scope, { id }),
    secretNames: (ids) =>
      db
        .selectFrom("project_secrets")
        .select(["project_id as projectId", "name", "scope", "form as as"])
        .where(dialect.isAmong("project_id", ids))
        .orderBy("name")
        .execute(),
    async setSecret(id, name, ciphertext) {
      const insert = db
        .insertInto("project_secrets")
        .values({ project_id: id, name, ciphertext, scope: null, form: "variable" })
        .onConflict((conflict) => conflict.columns(["project_id", "name"]).doUpdateSet({ ciphertext }));
      await orFault(dialect, insert.execute(), { missing: newReason("gone_project", { id }) });
    },
    async setSecretUse(id, name, { scope, as }) {
      if (scope === undefined && as === undefined) return;
      await db
        .updateTable("project_secrets")
        .set({ ...(scope === undefined ? {} : { scope }), ...(as === undefined ? {} : { form: as }) })
        .where("project_id", "=", id)
        .where("name", "=", name)
        .execute();
    },
    async deleteSecret(id, name) {
      const result = await db
        .deleteFrom("project_secrets")
        .where("project_id", "=", id)
        .where("name", "=", name)
        .executeTakeFirst();
      return result.numDeletedRows > 0n;
    },
  };
}

/** A few rows at a time: a project may have many tasks with long logs, and other writes must run in between. */
async function deleteSomeTasks({ db, dialect }: Scope, projectId: number): Promise<boolean> {
  const some = await db
    .selectFrom("tasks")
    .select("id")
    .where("project_id", "=", projectId)
    .orderBy("id")
    .limit(tasksPerBatch)
    .execute();
  const ids = some.map(({ id }) => id);
  if (ids.length === 0) return false;
  if ((await deleteLogRows({ db, dialect }, ids, logRowsPerBatch)) < logRowsPerBatch)
    await db.deleteFrom("tasks").where(dialect.isAmong("id", ids)).execute();
  return true;
}
