import { describe, expect, test } from "bun:test";
import { deleteProject } from "../../src/model/project.ts";
import { expiredTasks } from "../../src/task/task-retention.ts";
import { availableDatabases } from "../support/databases.ts";
import { sampleProject, sampleTask, sampleTime } from "../support/samples.ts";
import { setValues } from "../support/store-operations.ts";
import { setUpStore } from "../support/store-setup.ts";

const before = new Date(sampleTime.getTime() + 1000);
const later = new Date(sampleTime.getTime() + 60_000);

describe.each(await availableDatabases())("finished tasks past their time on $name", async ({ make }) => {
  const { store } = await setUpStore(make);

  const addProject = async () => (await store.projects.create(sampleProject())).id;
  const addTask = async (projectId: number, finishedAt: Date | null, createdAt = sampleTime) => {
    const { id } = await store.tasks.create(sampleTask({ projectId, createdAt }));
    if (finishedAt !== null)
      await store.tasks.change(id, { whileIn: ["queued"], set: { state: "failed", finishedAt } });
    return id;
  };
  const clean = () => Array.fromAsync(expiredTasks(store.taskRetention, before));
  const left = async (ids: number[]) => {
    const found = await Promise.all(ids.map((id) => store.tasks.byId(id)));
    return found.flatMap((task) => (task === null ? [] : [task.id]));
  };

  test("are deleted with their logs, a few rows at a time, also if other rows refer to them", async () => {
    const projectId = await addProject();
    const old = await addTask(projectId, sampleTime);
    for (let index = 0; index < 50; index++)
      await store.tasks.appendLog(old, [
        { index, stage: "build", step: null, at: sampleTime, text: `line ${index}` },
      ]);
    const again = await store.tasks.create(
      sampleTask({ projectId, createdAt: later, rerunOf: old, deliveryId: 12 }),
    );
    // 50 rows of a log are three batches; the last is reported with the task.
    expect(await clean()).toEqual([0, 0, 1]);
    expect(await left([old])).toEqual([]);
    expect(await store.tasks.log(old, 0, 10)).toEqual([]);
    expect(await store.tasks.nextLogIndex(old)).toBe(0);
    expect(await store.tasks.byId(again.id)).toMatchObject({ rerunOf: old });
    expect(await clean()).toEqual([]);
  });

  test("of a deleted project are deleted in small steps too, and after each of them others can write", async () => {
    const projectId = await addProject();
    for (let each = 0; each < 5; each++) {
      const id = await addTask(projectId, sampleTime);
      for (let index = 0; index < 40; index++)
        await store.tasks.appendLog(id, [
          { index, stage: "build", step: null, at: sampleTime, text: `line ${index}` },
        ]);
    }
    let steps = 0;
    const deleteSomeTasks = async (id: number) => {
      steps++;
      const isMore = await store.projects.deleteSomeTasks(id);
      await store.run(setValues, { names: ["beside"], value: "set" }, { name: "other", waitMs: 1_000 });
      return isMore;
    };
    const { delete: deleteRow } = store.projects;
    expect(await deleteProject({ deleteSomeTasks, delete: deleteRow }, projectId)).toBe(true);
    // 200 rows of logs, 20 in a step; then the tasks; then nothing is left.
    expect(steps).toBe(12);
    expect((await store.tasks.list({ projectId }, { page: 1, pageSize: 10 })).total).toBe(0);
    expect(await store.projects.byId(projectId)).toBeNull();
  });

  test("stay when they are the last of their project, live, unfinished, or finished only lately", async () => {
    const [quiet, busy] = [await addProject(), await addProject()];
    const last = await addTask(quiet, sampleTime);
    const live = await addTask(busy, sampleTime);
    await store.projects.setLive(busy, { liveTaskId: live });
    const waiting = await addTask(busy, null);
    const lately = await addTask(busy, later);
    const old = await addTask(busy, sampleTime);
    const young = await addTask(busy, later, later);
    await clean();
    const all = [last, live, waiting, lately, old, young];
    expect(await left(all)).toEqual(all.filter((id) => id !== old));
  });

  test("are found behind any number of tasks that stay", async () => {
    const projects = await Promise.all(Array.from({ length: 120 }, addProject));
    const stay: number[] = [];
    for (const projectId of projects) stay.push(await addTask(projectId, sampleTime));
    const [first = 0] = projects;
    const old = await addTask(first, sampleTime);
    const newest = await addTask(first, sampleTime);
    expect((await clean()).reduce((sum, count) => sum + count, 0)).toBe(2);
    expect(await left([...stay, old, newest])).toEqual([...stay.slice(1), newest]);
  });
});
