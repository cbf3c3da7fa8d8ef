import { afterAll, describe, expect, test } from "bun:test";
import pino from "pino";
import { manualClock } from "../../src/clock.ts";
import type { AddedCall } from "../../src/model/outgoing-call.ts";
import type { Project } from "../../src/model/project.ts";
import type { NotifyTarget } from "../../src/model/settings/notify-target.ts";
import { buildRunnerWatch } from "../../src/task/notify/runner-watch.ts";
import { buildWatchedTime } from "../../src/task/notify/watched-time.ts";
import { availableDatabases } from "../support/databases.ts";
import { sampleProject, sampleRunner, sampleTime } from "../support/samples.ts";

const target: NotifyTarget = {
  id: "target",
  format: "slipway",
  url: "https://hooks.example/…task",
  events: ["runner.gone"],
  logLines: 0,
  hasSecret: false,
};

describe.each(await availableDatabases())("a runner that is gone, on $name", async ({ make }) => {
  const database = await make();
  const store = await database.open();
  afterAll(() => database.remove());

  test("is reported once, by one server, to the projects that it could run", async () => {
    const listening = (change: Partial<Project>) =>
      store.projects.create(sampleProject({ notify: [target], ...change }));
    const linux = await listening({ name: "linux", labels: ["linux"] });
    await listening({ name: "gpu", labels: ["gpu"] });
    await listening({ name: "silent", labels: ["linux"], notify: [{ ...target, events: [] }] });
    const gone = await store.runners.create(sampleRunner("box", { labels: ["linux"] }));
    const there = await store.runners.create(sampleRunner("other", { labels: ["gpu"] }));
    const now = await store.now();
    await store.runners.update(gone.id, { lastSeenAt: new Date(now.getTime() - 100_000) });
    await store.runners.update(there.id, { lastSeenAt: now });

    const sent: AddedCall[] = [];
    const clock = manualClock();
    const watch = () =>
      buildRunnerWatch({
        store,
        outbox: { send: (calls) => void sent.push(...calls) },
        watched: buildWatchedTime(clock.elapsed),
        consoleUrl: () => "https://slipway.example",
        log: pino({ level: "silent" }),
      });
    const [first, second] = [watch(), watch()];
    await first.look();
    // Runners could not call while the server was down.
    expect(sent).toEqual([]);
    const lookFor = async (ms: number) => {
      for (let waitedMs = 0; waitedMs < ms; waitedMs += 15_000) {
        clock.advance(15_000);
        await Promise.all([first.look(), second.look()]);
      }
    };
    await lookFor(105_000);
    // Nor while it was suspended, or had no database.
    clock.advance(100_000);
    await Promise.all([first.look(), second.look()]);
    await lookFor(105_000);
    expect(sent).toEqual([]);
    await lookFor(15_000);
    expect(sent.map(({ call }) => call.projectId)).toEqual([linux.id]);
    const later = new Date(now.getTime() + 60_000);
    const [stored] = await store.outgoingCalls.takeDue(later, later, 10);
    expect(JSON.parse(stored?.body ?? "")).toMatchObject({
      type: "runner.gone",
      data: {
        runner: { id: gone.id, name: "box" },
        project: { id: linux.id },
        waiting: expect.stringContaining("no runner with the labels linux is connected"),
      },
    });

    await first.look();
    expect(sent).toHaveLength(1);
    // It came back, and is gone again.
    await store.runners.update(gone.id, { lastSeenAt: new Date(now.getTime() - 95_000) });
    await first.look();
    expect(sent).toHaveLength(2);
  });

  test("keeps the attempts of a project to the last 50", async () => {
    const { id: projectId } = await store.projects.create(sampleProject());
    const { id: otherId } = await store.projects.create(sampleProject());
    const attempt = (event: string) => ({
      projectId,
      at: sampleTime,
      kind: "notification" as const,
      event,
      targetId: "target",
      host: "hooks.example",
      attempt: 1,
      isDelivered: false,
      status: null,
      fault: "connection refused",
      response: "",
    });
    await store.outgoingAttempts.add({ ...attempt("other"), projectId: otherId }, 50);
    for (let index = 1; index <= 53; index++) await store.outgoingAttempts.add(attempt(`event ${index}`), 50);
    const kept = await store.outgoingAttempts.ofProject(projectId);
    expect(kept.map(({ event }) => event)).toEqual(
      Array.from({ length: 50 }, (_, index) => `event ${53 - index}`),
    );
    expect(kept[0]).toMatchObject(attempt("event 53"));
    expect(await store.outgoingAttempts.ofProject(otherId)).toHaveLength(1);
    await store.projects.delete(projectId);
    expect(await store.outgoingAttempts.ofProject(projectId)).toEqual([]);
  });
});
