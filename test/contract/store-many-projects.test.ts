import { describe, expect, test } from "bun:test";
import type { Activity, ActivityPlace } from "../../src/model/console/activity.ts";
import { type ActivityKind, activityKinds } from "../../src/model/console/activity.ts";
import type { DeliveryFilter } from "../../src/model/delivery.ts";
import type { TaskFilter } from "../../src/model/task.ts";
import { totalCap } from "../../src/store/query/page.ts";
import { availableDatabases } from "../support/databases.ts";
import { openPlanner } from "../support/query-plans.ts";
import { setUpStore } from "../support/store-setup.ts";

const projectCount = 100;
const rowCount = 12_500;
/** The first rows belong to the first projects, and all later rows to the others. */
const oldProjects = 40;
const oldRows = 2000;
const pageSize = 20;

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, each) => from + each);
const projectOf = (row: number) =>
  row <= oldRows ? (row % oldProjects) + 1 : oldProjects + (row % (projectCount - oldProjects)) + 1;
const isOther = (row: number) => row % 5 === 0;
const authorOf = (row: number) => (row % 1000 === 0 ? "bob" : "ann");

const projectSql = `case when i <= ${oldRows} then i % ${oldProjects} + 1
  else ${oldProjects} + i % ${projectCount - oldProjects} + 1 end`;
const authorSql = "case when i % 1000 = 0 then 'bob' else 'ann' end";

/** Who may view which projects: nearly all, those with all new rows, and those with old rows only. */
const viewers = {
  "of all projects but one": numbers(2, projectCount),
  "of the projects with the newest rows": numbers(oldProjects + 1, projectCount),
  "of the projects whose rows are old": numbers(1, oldProjects),
  "of projects without a row": numbers(projectCount + 1, projectCount + oldProjects),
};

describe.each(await availableDatabases())("lists of many projects on $name", async ({ make }) => {
  const { store, database } = await setUpStore(make);
  const planner = await openPlanner(database.url);
  const series = planner.series(rowCount);
  await planner.run(`insert into projects (name, git, pipeline, env, notify, labels, supersede, sample, created_at)
    select 'project ' || i, '{}', '{}', '{}', '[]', '[]', 'none', 0, 0 from ${planner.series(projectCount + oldProjects)}`);
  await planner.run(`insert into tasks (project_id, state, trigger_type, triggered_by, ref, message, author, stages,
      reason, priority, attempt, created_at, "commit", finished_at)
    select ${projectSql}, case when i % 5 = 0 then 'failed' else 'success' end, 'webhook', 'ann', 'refs/heads/main',
      'Change ' || i, ${authorSql}, '[]', '', 0, 1, i, 'commit ' || i, i from ${series}`);
  await planner.run(`insert into deliveries (project_id, project_name, provider, event, ref, ref_type, "commit",
      commit_message, author, status, reason, task_id, remote_ip, created_at, code, http_status, count, host_delivery_id,
      headers, normalized, trace, body)
    select ${projectSql}, 'shop', 'github', 'push', 'main', 'branch', '', '', 'ann',
      case when i % 5 = 0 then 'ignored' else 'accepted' end, '', 0, '192.0.2.1', ${rowCount} - i,
      case when i % 5 = 0 then 'skip_keyword' else 'accepted' end, 200, 1, '', '{}', null, '[]', '' from ${series}`);
  await planner.close();

  const pagesOf = (count: number) => [1, Math.max(2, Math.ceil(count / pageSize))];
  const slice = (rows: number[], page: number) => rows.slice((page - 1) * pageSize, page * pageSize);
  const rows = numbers(1, rowCount);

  for (const [who, visibleProjectIds] of Object.entries(viewers)) {
    const isVisible = new Set(visibleProjectIds);
    const own = rows.filter((row) => isVisible.has(projectOf(row)));

    test(`tasks, for a viewer ${who}`, async () => {
      const filters: [TaskFilter, number[]][] = [
        [{}, own],
        [{ state: "failed" }, own.filter(isOther)],
        [{ author: "bob" }, own.filter((row) => authorOf(row) === "bob")],
      ];
      for (const [filter, found] of filters) {
        const expected = found.toReversed();
        for (const page of pagesOf(found.length)) {
          const { items, total } = await store.tasks.list(
            { ...filter, visibleProjectIds },
            { page, pageSize },
          );
          expect(items.map(({ id }) => id)).toEqual(slice(expected, page));
          expect(total).toBe(Math.min(found.length, totalCap));
        }
      }
      expect((await store.overview.ended(visibleProjectIds, 40)).map(({ id }) => id)).toEqual(
        own.toReversed().slice(0, 40),
      );
      const found = await store.search.tasks({ text: "change", visibleProjectIds, limit: 5 });
      expect(found.map(({ id }) => id)).toEqual(own.toReversed().slice(0, 5));
    });

    test(`deliveries, whose order is by time, for a viewer ${who}`, async () => {
      const filters: [DeliveryFilter, number[]][] = [
        [{}, own],
        [{ status: "ignored" }, own.filter(isOther)],
      ];
      for (const [filter, expected] of filters) {
        for (const page of pagesOf(expected.length)) {
          const { items, total } = await store.deliveries.list(
            { ...filter, visibleProjectIds },
            { page, pageSize },
          );
          expect(items.map(({ id }) => id)).toEqual(slice(expected, page));
          expect(total).toBe(Math.min(expected.length, totalCap));
        }
      }
    });

    test(`activity, page after page, for a viewer ${who}`, async () => {
      const shown: Record<ActivityKind, number[]> = {
        all: own,
        stopped: own.filter(isOther),
        changes: own.filter((row) => !isOther(row)),
      };
      for (const show of activityKinds) {
        let place: ActivityPlace | null = null;
        for (const page of [1, 2, 3]) {
          const found: Activity[] = await store.activity.list({ show, visibleProjectIds }, place, pageSize);
          expect(found.map(({ delivery }) => delivery?.id ?? 0)).toEqual(slice(shown[show], page));
          const last = found.at(-1);
          place = last ? { at: last.at, kind: "delivery", id: last.delivery?.id ?? 0 } : place;
        }
      }
    });
  }
});
