import { expect, test } from "bun:test";
import pino from "pino";
import { Fault } from "../../src/errors.ts";
import { buildTaskEvents, type TaskEventsParts } from "../../src/task/events/task-events.ts";
import { makeSqlite } from "../support/databases.ts";
import { sampleProject, sampleTask } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

const { store } = await setUpStore(makeSqlite);

test("the end of a task is notified once although the database is away at that moment", async () => {
  const project = await store.projects.create(sampleProject());
  const task = {
    ...(await store.tasks.create(sampleTask({ projectId: project.id }))),
    state: "success" as const,
  };
  let failures = 3;
  const mayFail = async <T>(work: () => Promise<T>): Promise<T> => {
    if (failures-- > 0) throw new Fault("unavailable", "The database is not available: it is starting up");
    return work();
  };
  const told: string[] = [];
  const nothing = () => undefined;
  const parts = {
    keepers: {
      ...store,
      projects: { ...store.projects, byId: (id: number) => mayFail(() => store.projects.byId(id)) },
    },
    hasStatusToken: () => mayFail(async () => false),
    wakeups: { notify: nothing },
    live: { task: nothing, log: nothing, flushed: async () => undefined },
    notifier: { tell: (event: string) => mayFail(async () => void told.push(event)) },
    outbox: { send: nothing },
    metrics: { finished: nothing },
    noteWaiting: async () => null,
    consoleUrl: () => "",
    log: pino({ level: "silent" }),
  } as unknown as TaskEventsParts;
  const events = buildTaskEvents(parts);
  events.finished(task);
  await events.flushed();
  expect(told).toEqual(["task.succeeded"]);
}, 30_000);
