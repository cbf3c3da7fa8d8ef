import { describe, expect, test } from "bun:test";
import { type RunningService, unknownAfterMs } from "../../src/model/service/running-service.ts";
import { availableDatabases } from "../support/databases.ts";
import { sampleProject, sampleService, sampleTime } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

const later = (ms: number) => new Date(sampleTime.getTime() + ms);

describe.each(await availableDatabases())("services that run on $name", async ({ make }) => {
  const { store } = await setUpStore(make);
  const newProject = async () => (await store.projects.create(sampleProject())).id;

  const serviceOf = (projectId: number, change: Partial<RunningService> = {}) =>
    sampleService({ projectId, ...change });

  test("are stored by name, with the last report of each", async () => {
    const projectId = await newProject();
    const worker = serviceOf(projectId, { name: "worker", port: null, memoryBytes: null, cpu: null });
    await store.services.put(worker);
    await store.services.put(serviceOf(projectId));
    const crashed = serviceOf(projectId, {
      state: "restarting",
      exits: [sampleTime.toISOString()],
      lastExit: "SIGKILL",
      lastLines: "first\nsecond",
      fault: "refused",
      downSince: later(1),
      recoveringSince: later(2),
    });
    await store.services.put(crashed);
    expect(await store.services.ofProject(projectId)).toEqual([crashed, worker]);
    const other = await newProject();
    await store.services.put(serviceOf(other, { runnerId: 8 }));
    expect((await store.services.ofProjects([projectId, other])).map(({ name }) => name)).toEqual([
      "web",
      "worker",
      "web",
    ]);
    expect(await store.services.projectsOfRunner(7)).toEqual([projectId]);
    await store.services.delete(projectId, "web");
    expect(await store.services.ofProject(projectId)).toEqual([worker]);
    await store.projects.delete(projectId);
    expect(await store.services.ofProject(projectId)).toEqual([]);
    await store.projects.delete(other);
  });

  test("are in trouble if they do not serve, their runner is silent, or a route is not reached", async () => {
    const [projectId, other] = [await newProject(), await newProject()];
    const place = {
      domain: "a.example.com",
      path: "/",
      url: "https://a.example.com/",
      certificateUntil: null,
    };
    const put = (name: string, change: Partial<RunningService>) =>
      store.services.put(serviceOf(projectId, { name, ...change }));
    await put("fine", { routes: [{ ...place, fault: "" }] });
    await put("stopped", { state: "stopped" });
    await put("down", { state: "down" });
    await put("silent", { reportedAt: later(-unknownAfterMs) });
    await put("unreached", {
      routes: [
        { ...place, fault: "" },
        { ...place, path: "/api", fault: "no certificate" },
      ],
    });
    await store.services.put(serviceOf(other, { state: "unhealthy" }));
    const troubled = async (visible: number[] | undefined, limit = 10) =>
      (await store.services.troubled(visible, sampleTime, limit)).map(({ name }) => name);
    expect(await troubled([projectId])).toEqual(["down", "silent", "unreached"]);
    expect(await troubled([other])).toEqual(["web"]);
    expect(await troubled(undefined)).toEqual(["down", "silent", "unreached", "web"]);
    expect([await troubled(undefined, 1), await troubled([])]).toEqual([["down"], []]);
    for (const id of [projectId, other]) await store.projects.delete(id);
  });

  test("are marked once when their runner is away, and are counted as unknown", async () => {
    const projectId = await newProject();
    await store.services.put(serviceOf(projectId));
    await store.services.put(serviceOf(projectId, { name: "worker" }));
    await store.services.put(serviceOf(projectId, { name: "queue", reportedAt: later(unknownAfterMs) }));
    expect(await store.services.markAway(sampleTime)).toEqual([]);
    expect(await store.services.markAway(later(1))).toEqual([projectId]);
    expect(await store.services.markAway(later(1))).toEqual([]);
    expect(await store.services.countByState(later(1))).toEqual({ serving: 1, unknown: 2 });
    await store.projects.delete(projectId);
  });

  test("have samples, which end with a day and with the project", async () => {
    const projectId = await newProject();
    for (const at of [0, 1, 2])
      await store.services.addSample(projectId, "web", { at: later(at), memoryBytes: at, cpu: null });
    expect(await store.services.deleteSamples(later(1))).toBe(1);
    expect(await store.services.samples(projectId, later(2))).toMatchObject([
      { name: "web", at: later(2), memoryBytes: 2, cpu: null },
    ]);
    await store.projects.delete(projectId);
    expect(await store.services.samples(projectId, sampleTime)).toEqual([]);
  });

  test("output that people wait for goes to its runner once, and the answer to them", async () => {
    const read = (key: string, runnerId = 7) => ({
      key,
      runnerId,
      wanted: `{"id":"${key}"}`,
      createdAt: sampleTime,
    });
    expect(await store.outputReads.add(read("one"), 2)).toBe(true);
    expect(await store.outputReads.add(read("two"), 2)).toBe(true);
    expect(await store.outputReads.add(read("three"), 2)).toBe(false);
    expect(await store.outputReads.add(read("other", 8), 2)).toBe(true);
    expect((await store.outputReads.take(7)).sort()).toEqual(['{"id":"one"}', '{"id":"two"}']);
    expect(await store.outputReads.take(7)).toEqual([]);
    await store.outputReads.answer(8, "one", "of another runner");
    expect(await store.outputReads.answerOf("one")).toBeNull();
    await store.outputReads.answer(7, "one", "lines");
    expect(await store.outputReads.answerOf("one")).toBe("lines");
    await store.outputReads.delete("one");
    expect(await store.outputReads.answerOf("one")).toBeNull();
    expect(await store.outputReads.deleteOlderThan(later(1))).toBe(2);
  });
});
