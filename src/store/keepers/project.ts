import { type SqlBool, sql } from "kysely";
import { noApproval } from "../../model/approval/deploy-rule.ts";
import { plainExecution } from "../../model/execution.ts";
import type { ProjectKeeper } from "../../model/project.ts";
import { newReason } from "../../reason/reason.ts";
import { fixedQuery } from "../query/fixed-query.ts";
import { containsText, likePattern } from "../query/like-pattern.ts";
import { pageOf } from "../query/page.ts";
import { orFault, type Scope } from "../query/scope.ts";
import { projectShape } from "./project-shape.ts";
import { deleteLogRows } from "./task-log.ts";

const tasksPerBatch = 50;
/** A row can be a quarter of a megabyte. */
const logRowsPerBatch = 20;

const selectProject = fixedQuery(["id"], (db, { id }: { id: number }) =>
  db.selectFrom("projects").selectAll().where("id", "=", id),
);

const selectProjectToChange = fixedQuery(["id"], (db, { id }: { id: number }, dialect) => {
  const one = db.selectFrom("projects").selectAll().where("id", "=", id);
  // SQLite runs transactions one after the other, so it needs no row lock.
  return dialect.hasRowLocks ? one.forNoKeyUpdate() : one;
});

const selectSecrets = fixedQuery(["id"], (db, { id }: { id: number }) =>
  db
    .selectFrom("project_secrets")
    .select(["name", "ciphertext", "scope"])
    .where("project_id", "=", id)
    .orderBy("name"),
);

export function buildProjectKeeper(scope: Scope): ProjectKeeper {
  const { db, dialect } = scope;
  const named = <T>(name: string | undefined, work: Promise<T>) =>
    orFault(dialect, work, {
      duplicate: newReason("exists", { noun: newReason("noun_project"), name: name ?? "" }),
      missing: newReason("gone_group"),
    });

  return {
    async create(project) {
      const insert = db
        .insertInto("projects")
        .values(
          projectShape.insert({
            ...plainExecution,
            needsContainer: false,
            deploy: noApproval,
            publicUrl: "",
            ...project,
            liveTaskId: null,
            liveNote: "",
            homeRunnerId: null,
          }),
        )
        .returningAll();
      return projectShape.read(await named(project.name, insert.executeTakeFirstOrThrow()));
    },
    async byId(id) {
      const [row] = await selectProject(scope, { id });
      return row === undefined ? null : projectShape.read(row);
    },
    async hold(id) {
      const [row] = await selectProjectToChange(scope, { id });
      return row === undefined ? null : projectShape.read(row);
    },
    async list({ ids, groupId, search }, request) {
      let found = db.selectFrom("projects");
      if (ids !== undefined) found = found.where(dialect.isAmong("id", ids));
      if (groupId !== undefined) found = found.where("group_id", "=", groupId);
      if (search !== undefined && search !== "") found = found.where(containsText("name", search));
      return pageOf(db, found, request, (query) => query.orderBy("name"), projectShape.read);
    },
    async update(id, change) {
      const set = projectShape.update(change);
      if (Object.keys(set).length === 0) return this.byId(id);
      const update = db.updateTable("projects").set(set).where("id", "=", id).returningAll();
      const row = await named(change.name, update.executeTakeFirst());
      return row === undefined ? null : projectShape.read(row);
    },
    async setLive(id, live) {
      await db.updateTable("projects").set(projectShape.update(live)).where("id", "=", id).execute();
    },
    deleteSomeTasks: (id) => deleteSomeTasks(scope, id),
    async delete(id) {
      const result = await db.deleteFrom("projects").where("id", "=", id).executeTakeFirst();
      return result.numDeletedRows > 0n;
    },
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
      return rows.map(projectShape.read).filter((project) => project.commitStatus.context === context);
    },
    secrets: (id) => selectSecrets(scope, { id }),
    secretNames: (ids) =>
      db
        .selectFrom("project_secrets")
        .select(["project_id as projectId", "name", "scope"])
        .where(dialect.isAmong("project_id", ids))
        .orderBy("name")
        .execute(),
    async setSecret(id, name, ciphertext) {
      const insert = db
        .insertInto("project_secrets")
        .values({ project_id: id, name, ciphertext, scope: null })
        .onConflict((conflict) => conflict.columns(["project_id", "name"]).doUpdateSet({ ciphertext }));
      await orFault(dialect, insert.execute(), { missing: newReason("gone_project", { id }) });
    },
    async setSecretScope(id, name, scope) {
      await db
        .updateTable("project_secrets")
        .set({ scope })
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
