import { expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import { RunStatisticsCache } from "../../src/http/run-statistics.ts";
import type { ProjectRun } from "../../src/model/console/overview.ts";
import type { TaskState } from "../../src/model/task.ts";

function run(projectId: number, id: number, state: TaskState): ProjectRun {
  return {
    id,
    projectId,
    state,
    createdAt: new Date(0),
    finishedAt: null,
    durationMs: null,
    nothingRan: false,
  };
}

function setUp() {
  const asked: number[][] = [];
  const clock = manualClock();
  const cache = new RunStatisticsCache(
    {
      async statistics(projectIds, since, before) {
        expect(since.getTime() - before.getTime()).toBe(30 * 86_400_000);
        asked.push(projectIds);
        return projectIds.map((projectId) => ({
          ...{ projectId, isCurrent: true, runs: asked.length, succeeded: 0, medianMs: null },
        }));
      },
    },
    clock,
  );
  const of = async (ids: number[], runs: ProjectRun[]) =>
    [
      ...(await cache.of(
        ids,
        Map.groupBy(runs, ({ projectId }) => projectId),
      )),
    ].map(([id, statistics]) => [id, statistics[0]?.runs ?? null]);
  return { asked, clock, of };
}

test("statistics of a project are read again when one of its runs was added or has ended", async () => {
  const { asked, of } = setUp();
  const runs = [run(1, 10, "success"), run(2, 11, "running")];
  expect(await of([1, 2], runs)).toEqual([
    [1, 1],
    [2, 1],
  ]);
  expect(await of([1, 2], runs)).toEqual([
    [1, 1],
    [2, 1],
  ]);
  const ended = [run(1, 10, "success"), run(2, 11, "failed")];
  expect(await of([1, 2], ended)).toContainEqual([2, 2]);
  expect(await of([1, 2], [...ended, run(1, 12, "queued")])).toContainEqual([1, 3]);
  expect(asked).toEqual([[1, 2], [2], [1]]);
});

test("a project without runs is not read, and others again after ten minutes", async () => {
  const { asked, clock, of } = setUp();
  const runs = [run(1, 10, "success")];
  expect(await of([1, 2], runs)).toContainEqual([2, null]);
  clock.advance(9 * 60_000);
  await of([1, 2], runs);
  expect(asked).toEqual([[1]]);
  clock.advance(60_000);
  await of([1, 2], runs);
  expect(asked).toEqual([[1], [1]]);
});
