import { describe, expect, test } from "bun:test";
import pino from "pino";
import { manualClock } from "../../src/clock.ts";
import { completePipeline } from "../../src/model/pipeline.ts";
import { type RunningService, stateAt, unknownAfterMs } from "../../src/model/service/running-service.ts";
import { renderReason } from "../../src/reason/reason.ts";
import { buildWatchedTime } from "../../src/task/notify/watched-time.ts";
import { buildServiceWatch } from "../../src/task/service/service-watch.ts";
import { availableDatabases } from "../support/databases.ts";
import { sampleProject, sampleRunner, sampleService, sampleTask } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

describe.each(await availableDatabases())("services of a runner that is away, on $name", async ({ make }) => {
  const { store } = await setUpStore(make);

  test("are unknown, and their project is not known to serve; pages are told once, by one server", async () => {
    const now = store.now();
    const pipeline = completePipeline({ start: { web: { command: "node web.js" } } });
    const { id: projectId } = await store.projects.create(sampleProject({ pipeline }));
    const { id: runnerId } = await store.runners.create(sampleRunner("box"));
    const { id: taskId, ref, message, author } = await store.tasks.create(sampleTask({ projectId }));
    await store.releases.put({
      ...{
        taskId,
        projectId,
        attempt: 1,
        runnerId,
        state: "kept",
        ref,
        commit: "abc1234567",
        message,
        author,
      },
      ...{ pipeline, env: {}, digest: null, bytes: null, place: 1, replacedPlace: 0, deployedAt: now },
      ...{ endedAt: null, rolledBackAt: null, images: {}, promotedFrom: null },
    });
    await store.projects.setLive(projectId, { liveTaskId: taskId });
    const reportedAt = new Date(now.getTime() - unknownAfterMs - 1000);
    await store.services.put(sampleService({ projectId, taskId, runnerId, reportedAt }));

    const told: [number, string[]][] = [];
    const clock = manualClock();
    const watched = buildWatchedTime(clock.elapsed);
    const watch = () =>
      buildServiceWatch({
        store,
        events: {
          services: (project: number, services: readonly RunningService[], at: Date) =>
            void told.push([project, services.map((service) => stateAt(service, at))]),
        },
        watched,
        log: pino({ level: "silent" }),
      });
    const [first, second] = [watch(), watch()];
    await first.look();
    // Runners could not report while the server was down.
    expect(told).toEqual([]);
    for (let waitedMs = 0; waitedMs < unknownAfterMs; waitedMs += 10_000) {
      clock.advance(10_000);
      watched.looked();
    }
    await Promise.all([first.look(), second.look()]);
    await first.look();
    expect(told).toEqual([[projectId, ["unknown"]]]);
    const project = await store.projects.byId(projectId);
    expect(project?.liveTaskId).toBeNull();
    expect(renderReason(project?.liveNote ?? "")).toBe(
      "The runner box is away: whether abc1234 serves is not known.",
    );
  });
});
