import { type TaskKeeper, type TaskState, taskStates } from "../../model/task.ts";
import type { Database } from "../query/dialect.ts";
import { fixedQuery } from "../query/fixed-query.ts";
import { longRead } from "../query/keeper-call.ts";
import { cappedCount } from "../query/page.ts";
import { orFault, type Scope } from "../query/scope.ts";
import { createTask } from "./new-task.ts";
import { positionsOf } from "./queue-order.ts";
import { fullRunnersOf } from "./runner-room.ts";
import { claimedByAnother, holdNextTask, nextTask } from "./task-claim.ts";
import { listTasks } from "./task-list.ts";
import { buildTaskLogKeeper } from "./task-log.ts";
import { isDeploy, isHeld, isInState, isQueued, isWaiting, taskShape } from "./task-shape.ts";

const ofProject = (db: Database, projectId: number) =>
  db.selectFrom("tasks").selectAll().where("project_id", "=", projectId).where(isDeploy);
const selectUnfinished = fixedQuery(["project_id"], (db, { project_id }: { project_id: number }) =>
  ofProject(db, project_id).where(isQueued).unionAll(ofProject(db, project_id).where(isHeld)).orderBy("id"),
);

export function buildTaskKeeper(scope: Scope): TaskKeeper {
  const { db, dialect } = scope;
  return {
    ...buildTaskLogKeeper(scope),
    create: (task) => createTask(scope, task),
    byId: (id) => taskShape.one(scope, { id }),
    hold: (id) => taskShape.hold(scope, { id }),
    list: longRead((filter, request) => listTasks(scope, filter, request)),
    lastOfProjects: longRead(async (projectIds) => {
      const rows = await db
        .selectFrom("tasks")
        .selectAll()
        .where("id", "in", (eb) =>
          eb
            .selectFrom("projects")
            .where(dialect.isAmong("projects.id", projectIds))
            .select((inner) =>
              inner
                .selectFrom("tasks as own")
                .whereRef("own.project_id", "=", "projects.id")
                .where(isDeploy)
                .select("own.id")
                .orderBy("own.id", "desc")
                .limit(1)
                .as("last_id"),
            ),
        )
        .execute();
      return rows.map(taskShape.read);
    }),
    async unfinishedOfProject(projectId) {
      return (await selectUnfinished(scope, { project_id: projectId })).map(taskShape.read);
    },
    async queuedFor(runnerId) {
      const rows = await db
        .selectFrom("tasks")
        .selectAll()
        .where(isQueued)
        .where((task) =>
          task.or([
            task("target_runner_id", "=", runnerId),
            task.and([task("runner_id", "=", runnerId), task("service_action", "is not", null)]),
          ]),
        )
        .orderBy("id")
        .execute();
      return rows.map(taskShape.read);
    },
    async waiting(projectId) {
      const all = db.selectFrom("tasks").selectAll().where(isWaiting);
      const asked = projectId === undefined ? all : all.where("project_id", "=", projectId);
      return (await asked.orderBy("id").execute()).map(taskShape.read);
    },
    async change(id, { whileIn, leaseHash, leaseUntil, set }) {
      const update = db
        .updateTable("tasks")
        .set(taskShape.update(set))
        .where("id", "=", id)
        .where("state", "in", whileIn)
        .$if(leaseHash !== undefined, (query) => query.where("lease_hash", "=", leaseHash ?? ""))
        .$if(leaseUntil !== undefined, (query) => query.where("lease_until", "=", leaseUntil?.getTime() ?? 0))
        .returningAll();
      const row = await orFault(dialect, update.executeTakeFirst(), claimedByAnother);
      return row === undefined ? null : taskShape.read(row);
    },
    next: (claim) => nextTask(scope, claim),
    holdNext: (claim) => holdNextTask(scope, claim),
    fullRunners: (projectIds, now) => fullRunnersOf(scope, projectIds, now),
    async nextNotBefore(now) {
      const row = await db
        .selectFrom("tasks")
        .select((eb) => eb.fn.min("not_before").as("at"))
        .where(isQueued)
        .where(isDeploy)
        .where("not_before", ">", now.getTime())
        .executeTakeFirst();
      return row === undefined || row.at === null ? null : new Date(row.at);
    },
    positions: longRead((tasks, now) => positionsOf(scope, tasks, now)),
    async leases() {
      const rows = await db
        .selectFrom("tasks")
        .select(["id", "lease_hash", "lease_until"])
        .where(isHeld)
        .execute();
      return rows.map(({ id, lease_hash, lease_until }) => ({
        id,
        leaseHash: lease_hash ?? "",
        leaseUntil: new Date(lease_until ?? 0),
      }));
    },
    countByState: longRead(async () => {
      const counts = {} as Record<TaskState, number>;
      for (const state of taskStates)
        counts[state] = await cappedCount(scope.db, scope.db.selectFrom("tasks").where(isInState(state)));
      return counts;
    }),
  };
}
