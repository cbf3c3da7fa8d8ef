import { deleteProject } from "../src/model/project.ts";
import type { Store } from "../src/model/store.ts";
import type { LogLine } from "../src/model/task.ts";
import { sampleProject, sampleTask, sampleTime } from "../test/support/samples.ts";

const logs = 50;
const logBytes = 10 * 1024 * 1024;
const lineBytes = 64 * 1024;
const linesAtOnce = 4;
const queuedTasks = 200;
const idleMs = 2_000;

/** The longest that the event loop was not free, in milliseconds, at each kind of work and without any. */
export async function measureStalls(store: Store): Promise<Record<string, number>> {
  const projectId = await fillLogs(store);
  const { id: queuedProject } = await store.projects.create(sampleProject());
  for (let each = 0; each < queuedTasks; each++)
    await store.tasks.create(sampleTask({ projectId: queuedProject }));
  const queued = await store.tasks.list({ projectId: queuedProject }, { page: 1, pageSize: queuedTasks });
  return {
    nothing: await longestGapMs(Bun.sleep(idleMs)),
    "a list over a million records": await longestGapMs(
      store.deliveries.list({ search: "main" }, { page: 400, pageSize: 20 }),
    ),
    "the queue page with 200 queued tasks": await longestGapMs(
      store.tasks.positions(queued.items, sampleTime),
    ),
    "deletion of a project with 50 logs of 10 MiB": await longestGapMs(
      deleteProject(store.projects, projectId),
    ),
  };
}

async function fillLogs(store: Store): Promise<number> {
  const { id: projectId } = await store.projects.create(sampleProject());
  const text = "x".repeat(lineBytes);
  for (let each = 0; each < logs; each++) {
    const { id } = await store.tasks.create(sampleTask({ projectId }));
    for (let index = 0; index < logBytes / lineBytes; index += linesAtOnce)
      await store.tasks.appendLog(
        id,
        Array.from(
          { length: linesAtOnce },
          (_, offset): LogLine => ({
            index: index + offset,
            stage: "build",
            step: null,
            at: sampleTime,
            text,
          }),
        ),
      );
  }
  return projectId;
}

async function longestGapMs(work: Promise<unknown>): Promise<number> {
  let isOver = false;
  const settled = work.finally(() => {
    isOver = true;
  });
  let longest = 0;
  for (let lastAt = performance.now(); !isOver; ) {
    await new Promise((resolve) => setImmediate(resolve));
    const now = performance.now();
    longest = Math.max(longest, now - lastAt);
    lastAt = now;
  }
  await settled;
  return longest;
}
