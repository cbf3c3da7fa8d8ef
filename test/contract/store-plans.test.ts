import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { RecentQuery } from "../../src/model/delivery.ts";
import type { Keepers } from "../../src/model/store.ts";
import type { Task } from "../../src/model/task.ts";
import { totalCap } from "../../src/store/query/page.ts";
import { availableDatabases, type TestDatabase } from "../support/databases.ts";
import { pick } from "../support/length.ts";
import { longTest } from "../support/long-test.ts";
import { notedQueries, openPlanner, type Planner } from "../support/query-plans.ts";
import { sampleTask, sampleTime } from "../support/samples.ts";

const rowCount = pick(100_000, 1_000_000);
const taskCount = rowCount / 10;
const projectCount = 200;
const firstPage = { page: 1, pageSize: 20 };
const hour = (n: number) => new Date(sampleTime.getTime() + n * 3_600_000);
/** More projects than a list reads one by one. */
const mostProjects = Array.from({ length: 150 }, (_, index) => index + 1);
const lastHour = { since: hour(27), now: hour(28) };

/** Every row is one second after the one before; most are accepted pushes to main. */
const bulk = (series: string) => `insert into deliveries (
    project_id, project_name, provider, event, ref, ref_type, "commit", commit_message, author, status, reason,
    task_id, remote_ip, created_at, code, http_status, count, host_delivery_id, headers, normalized, trace, body)
  select i % ${projectCount} + 1, 'shop', 'github', 'push', case when i % 10 = 0 then 'feature/' || i else 'main' end,
    'branch', 'commit ' || i, 'Sell more', 'ann', case when i % 5 = 0 then 'ignored' else 'accepted' end, 'reason',
    i % ${taskCount} + 1, '192.0.2.1', ${sampleTime.getTime()} + i * 1000,
    case when i % 1000 = 0 then 'probe' when i % 5 = 0 then 'skip_keyword' else 'accepted' end,
    200, 1, 'host ' || i, '{}', '{"rawRef":"refs/heads/main"}', '[]', 'a body that is not read by lists'
  from ${series}`;
const bulkTasks = (series: string) => `insert into tasks (
    project_id, state, trigger_type, triggered_by, ref, message, author, stages, reason, priority, attempt, created_at,
    "commit", finished_at)
  select i % ${projectCount} + 1, case when i % 500 = 0 then 'queued' else 'success' end, 'webhook', 'ann',
    'refs/heads/main', '', 'ann', '[]', '', 0, 1, ${sampleTime.getTime()} + i * 1000, 'commit ' || i,
    case when i % 500 = 0 then null else ${sampleTime.getTime()} + i * 1000 end
  from ${series}`;
const bulkAudit = (series: string) => `insert into audit (
    at, user_id, username, action, project_id, subject, detail, remote_ip)
  select ${sampleTime.getTime()} + i * 1000, i % 50, 'ann', 'webhook.save', i % ${projectCount}, 'project shop', '{}', ''
  from ${series}`;
const projects = (series: string) => `insert into projects (
    name, group_id, git, pipeline, env, notify, labels, supersede, sample, created_at)
  select 'project ' || i, case when i <= 5 then 1 end, '{}', '{}', '{}', '[]', '[]', 'none', 0, 0 from ${series}`;

const waitingTask: Task = {
  ...sampleTask({ projectId: 7 }),
  id: rowCount,
  state: "queued",
  supersededBy: null,
  rollback: null,
  reason: "",
  attempt: 0,
  leaseHash: null,
  leaseUntil: null,
  runnerId: null,
  approval: null,
  startedAt: null,
  fetchingSince: null,
  deployingSince: null,
  serviceAction: null,
  deploys: null,
  move: null,
  targetRunnerId: null,
  pipeline: null,
  finishedAt: null,
};

const recentQuery: RecentQuery = {
  projectId: 7,
  placeId: 7,
  now: lastHour.now,
  counted: { bucket: "listed", since: lastHour.since },
  window: { since: lastHour.since, rawRef: null },
  pushed: { rawRef: "refs/heads/main", since: lastHour.now },
  queued: { priority: 0, notBefore: null },
};

/** Each asks the keepers as the product does. */
const lists: Record<string, (keepers: Keepers) => Promise<unknown>> = {
  "deliveries, all": ({ deliveries }) => deliveries.list({}, firstPage),
  "deliveries by project": ({ deliveries }) => deliveries.list({ projectId: 7 }, firstPage),
  "deliveries by group": ({ deliveries }) => deliveries.list({ groupId: 1 }, firstPage),
  "deliveries by status": ({ deliveries }) => deliveries.list({ status: "ignored" }, firstPage),
  "deliveries by a status that none has": ({ deliveries }) =>
    deliveries.list({ status: "failed" }, firstPage),
  "deliveries by code": ({ deliveries }) => deliveries.list({ code: "probe" }, firstPage),
  "deliveries by time": ({ deliveries }) => deliveries.list({ from: hour(1), to: hour(9) }, firstPage),
  "deliveries by project and status": ({ deliveries }) =>
    deliveries.list({ projectId: 7, status: "ignored" }, firstPage),
  "deliveries by project, status and time": ({ deliveries }) =>
    deliveries.list({ projectId: 7, status: "accepted", from: hour(1), to: hour(9) }, firstPage),
  "deliveries by a host's id": ({ deliveries }) => deliveries.list({ search: "host 77" }, firstPage),
  "deliveries by a shortened commit": ({ deliveries }) => deliveries.list({ search: "0123abc" }, firstPage),
  "deliveries by ref": ({ deliveries }) => deliveries.list({ search: "main" }, firstPage),
  "deliveries that a user may view": ({ deliveries }) =>
    deliveries.list({ visibleProjectIds: [3, 4, 5, 9_999] }, firstPage),
  "deliveries that a user may view, by status": ({ deliveries }) =>
    deliveries.list({ visibleProjectIds: [3, 4, 5], status: "ignored" }, firstPage),
  "deliveries of most projects": ({ deliveries }) =>
    deliveries.list({ visibleProjectIds: mostProjects }, firstPage),
  "deliveries of most projects, by status": ({ deliveries }) =>
    deliveries.list({ visibleProjectIds: mostProjects, status: "ignored" }, firstPage),
  "the latest deliveries of a project": ({ deliveries }) => deliveries.latest({ projectId: 7 }, 50),
  "deliveries walked from a place on": ({ deliveries }) =>
    deliveries.scan({}, { created_at: hour(9), id: 9_999 }, 500),
  "deliveries of a project and status walked from a place on": ({ deliveries }) =>
    deliveries.scan({ projectId: 7, status: "ignored" }, { created_at: hour(9), id: 9_999 }, 500),
  "deliveries of a group walked from a place on": ({ deliveries }) =>
    deliveries.scan({ groupId: 1 }, { created_at: hour(9), id: 9_999 }, 100),
  "deliveries that a newer one has overtaken": ({ deliveries }) => deliveries.overtaken([9_000, 9_010]),
  "the latest work of a project": ({ deliveries }) => deliveries.recent(recentQuery),
  "the latest work of a project, with the window of a ref": ({ deliveries }) =>
    deliveries.recent({ ...recentQuery, window: { since: lastHour.since, rawRef: "refs/heads/main" } }),
  "activity, all": ({ activity }) => activity.list({ show: "changes" }, null, 26),
  "activity after a place": ({ activity }) =>
    activity.list({ show: "all" }, { at: hour(9), kind: "task", id: 9_999 }, 26),
  "activity that stopped": ({ activity }) => activity.list({ show: "stopped" }, null, 26),
  "activity of a project": ({ activity }) => activity.list({ show: "changes", projectId: 7 }, null, 26),
  "activity that a user may view": ({ activity }) =>
    activity.list({ show: "changes", visibleProjectIds: [3, 4, 5] }, null, 26),
  "activity of most projects": ({ activity }) =>
    activity.list({ show: "changes", visibleProjectIds: mostProjects }, null, 26),
  "activity by status": ({ activity }) => activity.list({ show: "changes", outcome: "ignored" }, null, 26),
  "activity by ref": ({ activity }) => activity.list({ show: "changes", search: "main" }, null, 26),
  "activity by a shortened commit": ({ activity }) =>
    activity.list({ show: "changes", search: "0123abc" }, null, 26),
  "activity by time": ({ activity }) =>
    activity.list({ show: "changes", from: hour(1), to: hour(2) }, null, 26),
  "activity by the state of the task": ({ activity }) =>
    activity.list({ show: "changes", outcome: "success" }, null, 26),
  "a webhook by its key": ({ webhookConfigs }) => webhookConfigs.byKey("ab".repeat(24)),
  "a webhook with its project": ({ webhookConfigs }) => webhookConfigs.withProject(7),
  "tasks, all": ({ tasks }) => tasks.list({}, firstPage),
  "tasks by project": ({ tasks }) => tasks.list({ projectId: 7 }, firstPage),
  "tasks by state": ({ tasks }) => tasks.list({ state: "queued" }, firstPage),
  "tasks by project and state": ({ tasks }) => tasks.list({ projectId: 7, state: "success" }, firstPage),
  "tasks that a user may view": ({ tasks }) => tasks.list({ visibleProjectIds: [3, 4, 5] }, firstPage),
  "tasks of most projects": ({ tasks }) => tasks.list({ visibleProjectIds: mostProjects }, firstPage),
  "tasks of most projects, by state": ({ tasks }) =>
    tasks.list({ visibleProjectIds: mostProjects, state: "success" }, firstPage),
  "tasks of most projects, by an author that none has": ({ tasks }) =>
    tasks.list({ visibleProjectIds: mostProjects, author: "bob" }, firstPage),
  "tasks of a group": ({ tasks }) => tasks.list({ groupId: 1 }, firstPage),
  "the unfinished tasks of a project": ({ tasks }) => tasks.unfinishedOfProject(7),
  "the last task of projects": ({ tasks }) => tasks.lastOfProjects([3, 4, 5]),
  "tasks by ref": ({ tasks }) => tasks.list({ ref: "refs/heads/none" }, firstPage),
  "tasks by author": ({ tasks }) => tasks.list({ author: "bob" }, firstPage),
  "tasks by trigger": ({ tasks }) => tasks.list({ trigger: "manual" }, firstPage),
  "tasks by time": ({ tasks }) => tasks.list({ from: hour(1), to: hour(2) }, firstPage),
  "tasks by project, author, trigger and time": ({ tasks }) =>
    tasks.list({ projectId: 7, author: "ann", trigger: "webhook", from: hour(1), to: hour(9) }, firstPage),
  "tasks that a user may view, by author and state": ({ tasks }) =>
    tasks.list({ visibleProjectIds: [3, 4, 5], author: "ann", state: "success" }, firstPage),
  "tasks that a user may view, by time": ({ tasks }) =>
    tasks.list({ visibleProjectIds: [3, 4, 5], from: hour(1) }, firstPage),
  "the order of projects in the overview": ({ overview }) => overview.projects({}, firstPage),
  "the last runs of projects": ({ overview }) => overview.runs([3, 4, 5], 20),
  "statistics of projects": ({ overview }) => overview.statistics([3, 4, 5], hour(2), hour(0)),
  "tasks of projects that run or wait": ({ overview }) => overview.held([3, 4, 5]),
  "the tasks that are serving": ({ overview }) => overview.serving([3, 4, 5]),
  "the last tasks that ended": ({ overview }) => overview.ended(undefined, 40),
  "the last tasks that ended, that a user may view": ({ overview }) => overview.ended([3, 4, 5], 40),
  "the last tasks of most projects that ended": ({ overview }) => overview.ended(mostProjects, 40),
  "tasks of most projects by the start of a commit": ({ search }) =>
    search.commits({ text: "0123abc", visibleProjectIds: mostProjects, limit: 5 }),
  "tasks by the start of a commit": ({ search }) =>
    search.commits({ text: "0123abc", visibleProjectIds: undefined, limit: 5 }),
  "recent tasks by words, of projects that a user may view": ({ search }) =>
    search.tasks({ text: "sell more", visibleProjectIds: [3, 4, 5], limit: 5 }),
  "the next time a task may start": ({ tasks }) => tasks.nextNotBefore(sampleTime),
  "a claim": ({ tasks }) =>
    tasks.holdNext({ runnerId: 1, leaseHash: "lease", leaseUntil: hour(1), now: sampleTime }),
  "the position of a task": ({ tasks }) => tasks.positions([waitingTask], sampleTime),
  "leases of tasks with a runner": ({ tasks }) => tasks.leases(),
  "tasks by state, counted": ({ tasks }) => tasks.countByState(),
  "the audit log, all": ({ audit }) => audit.list({}, firstPage),
  "the audit log by user": ({ audit }) => audit.list({ userId: 7 }, firstPage),
  "the audit log by project": ({ audit }) => audit.list({ projectId: 7 }, firstPage),
  "the audit log by action and time": ({ audit }) =>
    audit.list({ action: "webhook.save", from: hour(1) }, firstPage),
  "the newest entry of the audit log": ({ audit }) => audit.lastId(),
};

describe.each(await availableDatabases())(`query plans at ${rowCount} rows on $name`, ({ make }) => {
  let database: TestDatabase;
  let planner: Planner;
  beforeAll(async () => {
    database = await make();
    await (await database.open()).groups.create({ name: "group", createdAt: sampleTime });
    planner = await openPlanner(database.url);
    await planner.run(projects(planner.series(projectCount)));
    await planner.run(bulk(planner.series(rowCount)));
    await planner.run(bulkTasks(planner.series(taskCount)));
    await planner.run(bulkAudit(planner.series(rowCount / 10)));
    if (planner.dialect.name === "postgres") await planner.run("analyze");
  }, longTest(600_000));
  afterAll(async () => {
    await planner.close();
    await database.remove();
  });

  for (const [name, ask] of Object.entries(lists)) {
    test(`${name}: by index, and no more rows than a page or the cap of the total`, async () => {
      const { keepers, taken } = notedQueries(planner.dialect);
      await ask(keepers);
      const queries = taken();
      expect(queries.length).toBeGreaterThan(0);
      for (const query of queries) {
        const plan = await planner.explain(query);
        // PostgreSQL may count common rows in table order: it stops at the cap.
        const isCount = query.sql.includes("count(");
        const shown = `${query.sql}\n${plan.text}`;
        if (!(isCount && planner.dialect.name === "postgres")) expect(plan.scans, shown).toEqual([]);
        expect(plan.touchedRows, shown).toBeLessThanOrEqual(isCount ? 6 * totalCap : 1_000);
        if (planner.dialect.name === "sqlite") expectShortSort(query.sql, plan.text);
      }
    });
  }
});

/**
 * SQLite may sort only what parts gave, each by its index: rows that are then looked up by their id. A claim sorts the
 * first task of each project that waits, statistics sort the newest tasks of each project, and a list of many projects
 * sorts those of the newest rows that belong to them. Of one project, the tasks whose delivery is gone are sorted by time.
 */
function expectShortSort(sql: string, plan: string): void {
  if (
    !plan.includes("USE TEMP B-TREE FOR ORDER BY") ||
    /recursive waiting|with recent|as "walked"|<> 'manual'/.test(sql)
  )
    return;
  expect(plan.split("\n")[0], `${sql}\n${plan}`).toMatch(
    /USING INTEGER PRIMARY KEY|USING INDEX tasks_(held|state) /,
  );
}
