import { type SqlBool, sql } from "kysely";
import type {
  RequestMinute,
  RunningService,
  ServiceKeeper,
  ServiceSample,
} from "../../model/service/running-service.ts";
import type { ServiceState } from "../../model/service/service.ts";
import { longRead } from "../query/keeper-call.ts";
import { flag, json, optional, plain, time } from "../query/row.ts";
import type { Scope } from "../query/scope.ts";
import { table } from "../query/table.ts";

const services = table<RunningService, "services">("services", {
  projectId: plain(),
  name: plain(),
  runnerId: plain(),
  taskId: plain(),
  state: plain(),
  since: time,
  startedAt: time,
  restarts: plain(),
  exits: json(),
  lastExit: plain(),
  fault: plain(),
  lastLines: plain(),
  port: plain(),
  routes: json(),
  memoryBytes: plain(),
  cpu: plain(),
  reportedAt: time,
  sampledAt: time,
  isAway: flag,
  downSince: optional(time),
  recoveringSince: optional(time),
});

type Sample = ServiceSample & { projectId: number; name: string };
const samples = table<Sample, "service_samples">("service_samples", {
  projectId: plain(),
  name: plain(),
  at: time,
  memoryBytes: plain(),
  cpu: plain(),
});

type Minute = RequestMinute & { projectId: number; name: string };
const requests = table<Minute, "service_requests">("service_requests", {
  projectId: plain(),
  name: plain(),
  at: time,
  count: plain(),
  success: plain(),
  redirect: plain(),
  clientError: plain(),
  serverError: plain(),
  p50Ms: plain(),
  p95Ms: plain(),
});

export function buildServiceKeeper(scope: Scope): ServiceKeeper {
  const { db, dialect } = scope;
  return {
    async put(service) {
      await services.put(scope, ["projectId", "name"], service);
    },
    ofProject: (projectId) => services.all(scope, { projectId }, ["name"]),
    async ofProjects(projectIds) {
      const rows = await db
        .selectFrom("services")
        .selectAll()
        .where(dialect.isAmong("project_id", projectIds))
        .orderBy("project_id")
        .orderBy("name")
        .execute();
      return rows.map(services.read);
    },
    async projectsOfRunner(runnerId) {
      const rows = await db
        .selectFrom("services")
        .select("project_id")
        .distinct()
        .where("runner_id", "=", runnerId)
        .execute();
      return rows.map(({ project_id }) => project_id);
    },
    async delete(projectId, name) {
      await services.delete(scope, { projectId, name });
    },
    async markAway(before) {
      const rows = await db
        .updateTable("services")
        .set({ is_away: 1 })
        .where("is_away", "=", 0)
        .where("reported_at", "<", before.getTime())
        .returning("project_id")
        .execute();
      return [...new Set(rows.map(({ project_id }) => project_id))];
    },
    troubled: longRead(async (visibleProjectIds, before, limit) => {
      let found = db.selectFrom("services").selectAll();
      if (visibleProjectIds !== undefined)
        found = found.where(dialect.isAmong("project_id", visibleProjectIds));
      const rows = await found
        .where((eb) =>
          eb.or([
            eb("state", "in", ["unhealthy", "restarting", "down"]),
            eb("reported_at", "<", before.getTime()),
            sql<SqlBool>`replace(routes, '"fault":""', '') like '%"fault":%'`,
          ]),
        )
        .orderBy("project_id")
        .orderBy("name")
        .limit(limit)
        .execute();
      return rows.map(services.read);
    }),
    countByState: longRead(async (before) => {
      const { rows } = await sql<{ shown: ServiceState; count: number }>`
        select case when reported_at < ${before.getTime()} then 'unknown' else state end as shown, count(*) as count
        from services group by 1`.execute(db);
      return Object.fromEntries(rows.map(({ shown, count }) => [shown, Number(count)]));
    }),
    async addSample(projectId, name, sample) {
      await samples.put(scope, ["projectId", "name", "at"], { projectId, name, ...sample });
    },
    samples: longRead(async (projectId, since) => {
      const rows = await db
        .selectFrom("service_samples")
        .selectAll()
        .where("project_id", "=", projectId)
        .where("at", ">=", since.getTime())
        .orderBy("at")
        .execute();
      return rows.map(samples.read);
    }),
    async addRequests(projectId, name, minute) {
      await requests.put(scope, ["projectId", "name", "at"], { projectId, name, ...minute });
    },
    requests: longRead(async (projectId, name, since) => {
      const rows = await db
        .selectFrom("service_requests")
        .selectAll()
        .where("project_id", "=", projectId)
        .where("name", "=", name)
        .where("at", ">=", since.getTime())
        .orderBy("at")
        .execute();
      return rows.map((row) => {
        const { projectId: _project, name: _name, ...minute } = requests.read(row);
        return minute;
      });
    }),
    async deleteSamples(before) {
      let deleted = 0;
      for (const name of ["service_samples", "service_requests"] as const) {
        const result = await db.deleteFrom(name).where("at", "<", before.getTime()).executeTakeFirst();
        deleted += Number(result.numDeletedRows);
      }
      return deleted;
    },
  };
}
