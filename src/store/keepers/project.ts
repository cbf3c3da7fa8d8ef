import { type SqlBool, sql } from "kysely";
import { type ProjectKeeper, projectDefaults } from "../../model/project.ts";
import { newReason } from "../../reason/reason.ts";
import { inTransaction, longRead } from "../query/keeper-call.ts";
import { containsText, likePattern } from "../query/like-pattern.ts";
import type { Scope } from "../query/scope.ts";
import { projects } from "./project-table.ts";
import { buildSecretKeeper } from "./secret.ts";
import { deleteLogRows } from "./task-log.ts";

const tasksPerBatch = 50;
/** A row can be a quarter of a megabyte. */
const logRowsPerBatch = 20;

export function buildProjectKeeper(scope: Scope): ProjectKeeper {
  const { db, dialect } = scope;
  const faults = (name = "") => ({
    duplicate: newReason("exists", { noun: newReason("noun_project"), name }),
    missing: newReason("gone_group"),
    unique: "name",
  });

  return {
    create: (project) =>
      projects.create(
        scope,
        {
          ...projectDefaults,
          needsContainer: false,
          disk: null,
          fileRead: null,
          parentId: null,
          environment: null,
          ...project,
          liveTaskId: null,
          liveNote: "",
          homeRunnerId: null,
        },
        faults(project.name),
      ),
    byId: (id) => projects.one(scope, { id }),
    hold: (id) => projects.hold(scope, { id }),
    async environmentsOf(parentIds) {
      const rows = await db
        .selectFrom("projects")
        .selectAll()
        .where(dialect.isAmong("parent_id", parentIds))
        .orderBy("id")
        .execute();
      return rows.map(projects.read);
    },
    list: longRead(({ ids, groupId, search, withEnvironments = false }, request) => {
      let found = db.selectFrom("projects");
      if (!withEnvironments) found = found.where("parent_id", "is", null);
      if (ids !== undefined) found = found.where(dialect.isAmong("id", ids));
      if (groupId !== undefined) found = found.where("group_id", "=", groupId);
      if (search !== undefined && search !== "") found = found.where(containsText("name", search));
      return projects.page(scope, found, request, ["name"]);
    }),
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
    deleteSomeTasks: inTransaction((id) => deleteSomeTasks(scope, id)),
    delete: async (id) => (await projects.delete(scope, { id })) > 0,
    withStatusContext: longRead(async (context, exceptId, limit) => {
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
    }),
    ...buildSecretKeeper(scope, "project"),
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
