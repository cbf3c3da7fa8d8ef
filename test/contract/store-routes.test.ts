import { describe, expect, test } from "bun:test";
import { Fault } from "../../src/errors.ts";
import { completePipeline } from "../../src/model/pipeline.ts";
import { projectRevision } from "../../src/model/project.ts";
import { renderReason } from "../../src/reason/reason.ts";
import { changeProject, createProject } from "../../src/task/change-project.ts";
import { availableDatabases } from "../support/databases.ts";
import { sampleProject, sampleService, sampleTime } from "../support/samples.ts";
import { setUpStore } from "../support/store-setup.ts";

const pipelineOf = (...places: [domain: string, path: string][]) =>
  completePipeline({
    start: { web: { command: "a", routes: places.map(([domain, path]) => ({ domains: [domain], path })) } },
  });
const audited = {
  ...{
    at: sampleTime,
    userId: null,
    username: "ann",
    projectId: null,
    remoteIp: "",
    action: "a",
    subject: "b",
  },
  detail: {},
};

async function faultOf(done: Promise<unknown>): Promise<string[]> {
  const fault = await done.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(fault instanceof Fault)) throw new Error("It was not refused.");
  return (fault.fields ?? []).map(({ field, message }) => `${field} ${renderReason(message)}`);
}

describe.each(await availableDatabases())("routes on $name", async ({ make }) => {
  const { store } = await setUpStore(make);
  let count = 0;
  const add = (...places: [string, string][]) =>
    store.run(createProject, {
      asked: sampleProject({ name: `project ${++count}`, pipeline: pipelineOf(...places) }),
      visible: [],
      audited,
    });
  const change = async (id: number, visible: number[] | undefined, ...places: [string, string][]) => {
    const before = await store.projects.byId(id);
    if (before === null) throw new Error("There is no such project.");
    return store.run(changeProject, {
      ...{ id, revision: projectRevision(before), visible, secrets: [], forget: [], audited: null },
      change: { pipeline: pipelineOf(...places) },
    });
  };

  test("a domain and path belong to one project, which frees them when it changes or is deleted", async () => {
    const first = await add(["a.example.com", "/"]);
    expect(await faultOf(add(["b.example.com", "/"], ["a.example.com", "/"]))).toEqual([
      "pipeline.start.web.routes.1.domains.0 cannot be used: another project has a route for a.example.com",
    ]);
    // What was refused has left nothing behind.
    const second = await add(["b.example.com", "/"], ["a.example.com", "/api"]);
    expect(await faultOf(change(second.id, undefined, ["a.example.com", "/"]))).toEqual([
      `pipeline.start.web.routes.0.domains.0 cannot be used: the project ${first.name} has a route for a.example.com`,
    ]);
    expect((await store.projects.byId(second.id))?.pipeline).toEqual(second.pipeline);
    await change(first.id, [], ["a.example.com", "/admin"]);
    await change(second.id, [], ["a.example.com", "/"], ["a.example.com", "/api"]);
    await store.projects.delete(second.id);
    await change(first.id, [], ["a.example.com", "/"], ["b.example.com", "/"]);
  });

  test("of many projects that ask for one place at once, one gets it", async () => {
    const asked = await Promise.allSettled(
      Array.from({ length: 8 }, () => add(["race.example.com", "/x"], ["race.example.com", "/y"])),
    );
    expect(asked.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const refused of asked.filter((each) => each.status === "rejected"))
      expect(refused.reason).toBeInstanceOf(Fault);
  });

  test("allowed domains, and what a runner reports of routes and its proxy, are stored", async () => {
    const group = await store.groups.create({
      name: "shop",
      createdAt: sampleTime,
      allowedDomains: ["*.a.b"],
    });
    expect((await store.groups.byId(group.id))?.allowedDomains).toEqual(["*.a.b"]);
    const { id } = await store.projects.create(sampleProject({ allowedDomains: ["c.d"] }));
    expect((await store.projects.byId(id))?.allowedDomains).toEqual(["c.d"]);
    const fault = { code: "route_waiting" as const, values: {} };
    const routes = [{ domain: "a.b", path: "/", url: "https://a.b/", fault, certificateUntil: null }];
    await store.services.put(sampleService({ projectId: id, routes }));
    expect((await store.services.ofProject(id))[0]?.routes).toEqual(routes);
    const { id: runnerId } = await store.runners.create({
      ...{ name: "r", labels: [], tokenHash: "h", local: false, disabled: false, concurrency: 1 },
      createdAt: sampleTime,
    });
    await store.runners.update(runnerId, { proxy: "caddy", proxyNote: fault });
    expect(await store.runners.byId(runnerId)).toMatchObject({ proxy: "caddy", proxyNote: fault });
  });

  test("figures of requests are stored by minute, and deleted with the samples", async () => {
    const { id } = await store.projects.create(sampleProject());
    const minute = (minutes: number, count: number) => ({
      at: new Date(sampleTime.getTime() + minutes * 60_000),
      ...{ count, success: count - 1, redirect: 0, clientError: 0, serverError: 1, p50Ms: 1.5, p95Ms: 20 },
    });
    for (const each of [minute(1, 7), minute(0, 5), minute(1, 9)])
      await store.services.addRequests(id, "web", each);
    await store.services.addRequests(id, "api", minute(0, 1));
    const since = new Date(sampleTime.getTime());
    expect(await store.services.requests(id, "web", since)).toEqual([minute(0, 5), minute(1, 9)]);
    await store.services.deleteSamples(minute(1, 0).at);
    expect(await store.services.requests(id, "web", since)).toEqual([minute(1, 9)]);
  });
});
