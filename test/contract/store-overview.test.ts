import { describe, expect, test } from "bun:test";
import type { TaskApproval } from "../../src/model/approval/task-approval.ts";
import type { OverviewFilter } from "../../src/model/console/overview.ts";
import { emptyPipeline } from "../../src/model/pipeline.ts";
import { type Task, type TaskState, workedMs } from "../../src/model/task.ts";
import { availableDatabases } from "../support/databases.ts";
import { openPlanner } from "../support/query-plans.ts";
import { sampleProject, sampleStage, sampleTask, sampleTime } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

const day = (n: number) => new Date(sampleTime.getTime() + n * 86_400_000);
const page = { page: 1, pageSize: 50 };

describe.each(await availableDatabases())("the overview and the search on $name", async ({ make }) => {
  const { database, store } = await setUpStore(make);
  const { overview, search } = store;

  const addProject = async (name: string) => (await store.projects.create(sampleProject({ name }))).id;
  /** A task that ended in this state after so many seconds. */
  const addTask = async (
    projectId: number,
    state: TaskState,
    { at = sampleTime, seconds = 10, ...change }: Partial<Task> & { at?: Date; seconds?: number } = {},
  ) => {
    const { id } = await store.tasks.create(sampleTask({ projectId, createdAt: at, ...change }));
    const isEnded = !["queued", "running", "waiting"].includes(state);
    const finishedAt = isEnded ? new Date(at.getTime() + seconds * 1000) : null;
    const startedAt = state === "queued" ? null : at;
    if (state !== "queued")
      await store.tasks.change(id, { whileIn: ["queued"], set: { state, startedAt, finishedAt } });
    return id;
  };

  test("broken projects come first, then those with unfinished tasks; canceled runs decide nothing", async () => {
    const names = ["idle", "fine", "broken", "canceled after a failure", "running", "waiting", "mended"];
    const ids = new Map<string, number>();
    for (const name of names) ids.set(name, await addProject(name));
    const id = (name: string) => ids.get(name) ?? 0;
    await addTask(id("running"), "success");
    await addTask(id("running"), "running");
    await addTask(id("broken"), "success");
    await addTask(id("broken"), "timeout");
    await addTask(id("canceled after a failure"), "failed");
    await addTask(id("canceled after a failure"), "canceled");
    await addTask(id("waiting"), "waiting");
    await addTask(id("mended"), "failed");
    await addTask(id("mended"), "success");
    await addTask(id("fine"), "success");
    const all = await overview.projects({}, page);
    expect(all.items.map(({ project }) => project.name)).toEqual([
      "canceled after a failure",
      "broken",
      "waiting",
      "running",
      "fine",
      "mended",
      "idle",
    ]);
    expect(all.counts).toEqual({ projects: 7, broken: 2, active: 2 });
    expect(all.failing).toEqual([id("canceled after a failure"), id("broken")]);
    const searched = await overview.projects({ search: "IN" }, page);
    expect(searched.items.map(({ project }) => project.name)).toEqual(["waiting", "running", "fine"]);
    expect(searched.failing).toEqual(all.failing);
    expect(all.items.map(({ isBroken }) => isBroken).slice(0, 3)).toEqual([true, true, false]);
    const second = await overview.projects({}, { page: 2, pageSize: 3 });
    expect(second.items.map(({ project }) => project.name)).toEqual(["running", "fine", "mended"]);
    expect(second.total).toBe(7);
    const few = await overview.projects({ visibleProjectIds: [id("fine"), id("broken")] }, page);
    expect(few.items.map(({ project }) => project.name)).toEqual(["broken", "fine"]);
    expect(few.counts).toEqual({ projects: 2, broken: 1, active: 0 });
    const namesOf = async (filter: OverviewFilter) =>
      (await overview.projects(filter, page)).items.map(({ project }) => project.name);
    expect(await namesOf({ state: "broken" })).toEqual(["canceled after a failure", "broken"]);
    expect(await namesOf({ state: "active" })).toEqual(["waiting", "running"]);
    expect(await namesOf({ state: "never_ran", fold: true })).toEqual(["idle"]);
    const folded = await overview.projects({ fold: true }, page);
    expect(folded).toMatchObject({ total: 6, folded: 1, counts: { projects: 7 } });
    expect(folded.items.map(({ project }) => project.name)).not.toContain("idle");
    expect(await namesOf({ fold: true, visibleProjectIds: [id("idle")] })).toEqual(["idle"]);
    const { id: groupId } = await store.groups.create({ name: "web", createdAt: sampleTime });
    const grouped = await store.projects.create(sampleProject({ name: "grouped", groupId }));
    expect(await namesOf({ groupId })).toEqual(["grouped"]);
    expect(await namesOf({ groupId, state: "broken" })).toEqual([]);
    await store.projects.delete(grouped.id);
    expect(
      (await overview.held([id("waiting"), id("running"), id("fine")])).map(({ state }) => state),
    ).toEqual(["running", "waiting"]);
  });

  test("the last runs of each project, oldest first, with those that ran nothing", async () => {
    const projectId = await addProject("runs");
    const nothing = await addTask(projectId, "success", {
      stages: [sampleStage("build", { state: "skipped" })],
    });
    const success = await addTask(projectId, "success", {
      seconds: 4,
      stages: [sampleStage("build", { state: "success", exitCode: 0 })],
    });
    const queued = await addTask(projectId, "queued");
    const runs = await overview.runs([projectId], 20);
    expect(runs.map(({ id, durationMs, nothingRan }) => [id, durationMs, nothingRan])).toEqual([
      [nothing, 10_000, true],
      [success, 4000, false],
      [queued, null, false],
    ]);
    expect(runs.map(({ finishedAt }) => finishedAt !== null)).toEqual([true, true, false]);
    expect((await overview.runs([projectId], 2)).map(({ id }) => id)).toEqual([success, queued]);
  });

  test("the wait for an approval is no part of a duration", async () => {
    const projectId = await addProject("approved");
    const at = day(-3);
    const after = (seconds: number) => new Date(at.getTime() + seconds * 1000).toISOString();
    const cases = [
      { requestedAt: after(20), at: after(90), expectedMs: 30_000 },
      { requestedAt: after(20), at: null, expectedMs: 20_000 },
      { requestedAt: after(-50), at: after(-10), expectedMs: 100_000 },
      { requestedAt: null, at: null, expectedMs: 100_000 },
      // Its approval was requested again.
      { requestedAt: after(60), at: after(90), earlierWaitMs: 25_000, expectedMs: 45_000 },
      { requestedAt: null, at: null, earlierWaitMs: 25_000, expectedMs: 75_000 },
    ];
    for (const { requestedAt, at: answeredAt, expectedMs, earlierWaitMs } of cases) {
      const id = await addTask(projectId, "success", { at, seconds: 100 });
      const given = { requestedAt, at: answeredAt, ...(earlierWaitMs ? { earlierWaitMs } : {}) };
      const pinned = { pipeline: emptyPipeline };
      const approval = { state: "approved", ...given, pinned, comment: "\0" } as TaskApproval;
      const task = await store.tasks.change(id, { whileIn: ["success"], set: { approval } });
      expect(task && workedMs(task)).toBe(expectedMs);
    }
    const runs = await overview.runs([projectId], 20);
    expect(runs.map(({ durationMs }) => durationMs)).toEqual(cases.map(({ expectedMs }) => expectedMs));
    const [found] = await overview.statistics([projectId], day(-30), day(-60));
    expect(found).toMatchObject({ succeeded: 6, medianMs: 60_000 });
  });

  test("success rate and median duration of two periods", async () => {
    const projectId = await addProject("statistics");
    await addTask(projectId, "success", { at: day(-50), seconds: 100 });
    for (const seconds of [9, 1, 5, 3]) await addTask(projectId, "success", { at: day(-2), seconds });
    await addTask(projectId, "failed", { at: day(-1), seconds: 1000 });
    await addTask(projectId, "canceled", { at: day(-1) });
    await addTask(projectId, "success", { at: day(-400), seconds: 7 });
    const found = await overview.statistics([projectId], day(-30), day(-60));
    expect(found.toSorted((a, b) => a.runs - b.runs)).toEqual([
      { projectId, isCurrent: false, runs: 1, succeeded: 1, medianMs: 100_000 },
      { projectId, isCurrent: true, runs: 5, succeeded: 4, medianMs: 4000 },
    ]);
    expect(await overview.statistics([projectId + 999], day(-30), day(-60))).toEqual([]);
  });

  test("tasks by author, ref, trigger and time, finished or not", async () => {
    const projectId = await addProject("filters");
    const first = await addTask(projectId, "success", { author: "fay", at: day(-300) });
    const second = await addTask(projectId, "failed", {
      author: "fay",
      ref: "refs/heads/cart",
      at: day(-299),
    });
    const third = await addTask(projectId, "queued", { author: "fay", triggerType: "manual", at: day(-298) });
    const waiting = await addTask(projectId, "waiting", { author: "fay", at: day(-297) });
    await addTask(projectId, "success", { author: "gus", at: day(-296) });
    const ids = async (filter: Parameters<typeof store.tasks.list>[0]) => {
      const { items, total } = await store.tasks.list(filter, page);
      expect(total).toBe(items.length);
      return items.map(({ id }) => id);
    };
    expect(await ids({ author: "fay" })).toEqual([waiting, third, second, first]);
    expect(await ids({ author: "fay", state: "success" })).toEqual([first]);
    expect(await ids({ author: "fay", trigger: "manual" })).toEqual([third]);
    expect(await ids({ ref: "refs/heads/cart" })).toEqual([second]);
    expect(await ids({ from: day(-299), to: day(-297) })).toEqual([third, second]);
    expect(await ids({ from: day(-299), to: day(-297), projectId })).toEqual([third, second]);
    expect(await ids({ author: "fay", visibleProjectIds: [projectId, 1] })).toEqual([
      waiting,
      third,
      second,
      first,
    ]);
    expect(await ids({ from: day(-300), to: day(-298), visibleProjectIds: [projectId, 1] })).toEqual([
      second,
      first,
    ]);
    expect(await ids({ author: "fay", visibleProjectIds: [] })).toEqual([]);
  });

  test("a search takes text as it is, and finds only visible projects", async () => {
    const odd = await addProject("100% of_it \\ done");
    const hidden = await addProject("100 percent");
    const find = async (text: string, visibleProjectIds?: number[]) =>
      (await search.projects({ text, visibleProjectIds, limit: 8 })).map(({ id }) => id);
    expect(await find("100%")).toEqual([odd]);
    expect(await find("f_it \\")).toEqual([odd]);
    expect(await find("DONE 100")).toEqual([odd]);
    expect(await find("100", [hidden])).toEqual([hidden]);
    expect(await find("100", [])).toEqual([]);
    const commit = "feedbeef".repeat(5);
    const task = await addTask(odd, "success", { commit, message: "Ünusual words of a message" });
    const request = { text: "FEEDBEEF", visibleProjectIds: undefined, limit: 5 };
    expect((await search.commits(request)).map(({ id }) => id)).toEqual([task]);
    expect(await search.commits({ ...request, visibleProjectIds: [hidden] })).toEqual([]);
    const words = { ...request, text: "message words" };
    expect((await search.tasks(words)).map(({ id }) => id)).toEqual([task]);
    expect((await search.tasks({ ...words, visibleProjectIds: [odd] })).map(({ id }) => id)).toEqual([task]);
    expect(await search.tasks({ ...words, visibleProjectIds: [hidden] })).toEqual([]);
    await store.refTips.set(odd, [{ ref: "refs/heads/feature/Login", commit }], sampleTime);
    const branches = { ...request, text: "login" };
    expect((await search.branches(branches)).map(({ ref }) => ref)).toEqual(["refs/heads/feature/Login"]);
    expect(await search.branches({ ...branches, visibleProjectIds: [hidden] })).toEqual([]);
  });

  test("among 10,000 projects: the broken one comes first, the last page is there, and a name is found", async () => {
    const count = 10_000;
    const planner = await openPlanner(database.url);
    await planner.run(`insert into projects (
        name, git, pipeline, env, notify, labels, supersede, sample, created_at)
      select 'service ' || i, '{"url":"","ref":"main","submodules":false}', '{}', '{}', '[]', '[]', 'none', 0, 0
      from ${planner.series(count)}`);
    await planner.close();
    const [last] = await search.projects({ text: "service 9999", visibleProjectIds: undefined, limit: 8 });
    const id = last?.id ?? 0;
    expect(last?.name).toBe("service 9999");
    await addTask(id, "lost");
    const { items, total } = await overview.projects({}, { page: 1, pageSize: 50 });
    expect(total).toBeGreaterThanOrEqual(count);
    expect(items).toHaveLength(50);
    expect(items[0]).toMatchObject({ isBroken: true, project: { id } });
    const end = await overview.projects({}, { page: Math.ceil(total / 50), pageSize: 50 });
    expect(end.items.length).toBeGreaterThan(0);
    const found = await search.projects({ text: "SERVICE 12", visibleProjectIds: [id], limit: 8 });
    expect(found).toEqual([]);
  });
});
