import { afterAll, describe, expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import { eventually } from "../support/eventually.ts";
import { type Received, receiveNotifications } from "../support/notification-receiver.ts";
import { startServiceScene } from "../support/service-scene.ts";

const clock = manualClock(Date.now());
const scene = await startServiceScene({ "tasks.allowInternalNotifications": true }, clock);
const receiver = receiveNotifications();
afterAll(async () => {
  receiver.stop();
  await scene.server.stop();
});
const { deployed, deploy, report, service, projectNow } = scene;
const { admin } = scene.server;

interface ServiceEvent {
  type: string;
  data: { service: { name: string; lastLines: string }; project: { id: number }; logLines?: string[] };
}

const listening = () => ({
  notify: [{ url: receiver.url, events: ["service.down", "service.up"], logLines: 2 }],
});
const eventsOf = (projectId: number): ServiceEvent[] =>
  receiver.received
    .map(({ json }: Received) => json as unknown as ServiceEvent)
    .filter(({ data }) => data.project.id === projectId);
const secondsAgo = (seconds: number) => new Date(clock.now() - seconds * 1000).toISOString();

describe("what serves follows from the states of the services", () => {
  test("as their runner reports them", async () => {
    const shop = await deployed(["web", "worker"]);
    const [web, worker] = [service(shop), service(shop, { name: "worker", port: null })];
    const live = { liveTaskId: shop.taskId, liveNote: "" };
    expect(await projectNow(shop.projectId)).toMatchObject({
      ...live,
      services: { state: "serving", serving: 2, total: 2 },
    });
    await report(web, { ...worker, state: "restarting", exits: [secondsAgo(1)], lastExit: "1" });
    expect(await projectNow(shop.projectId)).toMatchObject({
      liveTaskId: null,
      liveNote: "The service worker (0000000) ended and is being started again.",
      services: { state: "restarting", serving: 1, total: 2 },
    });
    await report(web, { ...worker, exits: [secondsAgo(1)], restarts: 1, lastExit: "1" });
    expect(await projectNow(shop.projectId)).toMatchObject(live);
    await report({ ...web, state: "unhealthy", fault: "503" }, worker);
    expect(await projectNow(shop.projectId)).toMatchObject({ ...live, services: { state: "unhealthy" } });
    await report({ ...web, state: "stopped" }, worker);
    expect(await projectNow(shop.projectId)).toMatchObject({
      liveTaskId: null,
      liveNote: "The service web (0000000) was stopped by a person.",
    });
    await report(web, worker);
    expect(await projectNow(shop.projectId)).toMatchObject(live);
  });

  test("and a runner that is away never has one that serves", async () => {
    const shop = await deployed(["web"]);
    const stateOf = async () =>
      (await admin.expect<{ state: string }>(200, "GET", `/api/projects/${shop.projectId}/services`)).state;
    clock.advance(29_000);
    expect(await stateOf()).toBe("serving");
    clock.advance(1_000);
    expect(await stateOf()).toBe("unknown");
    expect((await projectNow(shop.projectId)).services).toEqual({ state: "unknown", serving: 0, total: 1 });
    await report(service(shop));
    expect(await stateOf()).toBe("serving");
  });

  test("a service that the runner no longer names is down, one that the release no longer has is gone", async () => {
    const shop = await deployed(["web", "worker"]);
    clock.advance(10_000);
    await report(service(shop));
    expect((await projectNow(shop.projectId)).services).toMatchObject({ total: 2, serving: 2 });
    clock.advance(10_000);
    await report(service(shop));
    expect((await projectNow(shop.projectId)).services).toEqual({ state: "down", total: 2, serving: 1 });
    await admin.expect(200, "PATCH", `/api/projects/${shop.projectId}`, {
      pipeline: { start: { web: { command: "node web.js" } } },
    });
    const next = await deploy(shop.projectId);
    clock.advance(20_000);
    await report(service(next));
    expect(await projectNow(shop.projectId)).toMatchObject({
      liveTaskId: next.taskId,
      services: { state: "serving", total: 1, serving: 1 },
    });
  });

  test("a project is deleted only after its services were stopped", async () => {
    const shop = await deployed(["web"]);
    const address = `/api/projects/${shop.projectId}`;
    const refused = await admin.expect<{ error: { message: string } }>(409, "DELETE", address);
    expect(refused.error.message).toContain("Stop the services of");
    expect(refused.error.message).toContain("(web)");
    await report(service(shop, { state: "stopped" }));
    await admin.expect(204, "DELETE", address);
  });

  test("a runner can report only releases that it has made", async () => {
    const shop = await deployed(["web"]);
    const other = await deployed(["web"]);
    await report(service(shop), { ...service(other), projectId: shop.projectId, state: "down" });
    expect((await projectNow(shop.projectId)).services).toMatchObject({ state: "serving" });
    await report(service(shop), service({ projectId: 999_999, taskId: shop.taskId }));
  });
});

describe("people are notified", () => {
  test("once that a service is down, with its last lines, and once that it is up again", async () => {
    const shop = await deployed(["web"], listening());
    const crash = { exits: [secondsAgo(1)], lastExit: "SIGKILL", lastLines: "one\ntwo\nthree" };
    await report(service(shop, { state: "restarting", ...crash }));
    await report(service(shop, { state: "restarting", ...crash }));
    await report(service(shop, crash));
    clock.advance(20_000);
    await report(service(shop, crash));
    await eventually("the message arrives", () => eventsOf(shop.projectId).length === 1);
    clock.advance(10_000);
    await report(service(shop, crash));
    await eventually("the second message arrives", () => eventsOf(shop.projectId).length === 2);
    const [down, up] = eventsOf(shop.projectId);
    expect(down).toMatchObject({
      type: "service.down",
      data: { service: { name: "web", lastLines: "one\ntwo\nthree" }, logLines: ["two", "three"] },
    });
    expect(up).toMatchObject({ type: "service.up", data: { service: { name: "web" } } });
  });

  test("once, if one of ten services is in a crash loop", async () => {
    const names = Array.from({ length: 10 }, (_, i) => `service-${i}`);
    const shop = await deployed(names, { ...listening(), rollback: "off" });
    const others = names.slice(1).map((name) => service(shop, { name }));
    for (let i = 1; i <= 30; i++) {
      clock.advance(2000);
      const exits = Array.from({ length: Math.min(i, 5) }, (_, back) => secondsAgo(2 * (4 - back) + 1));
      const state = i % 3 === 0 ? "serving" : "restarting";
      await report(
        ...others,
        service(shop, { name: "service-0", state, exits: exits.slice(-i), restarts: i }),
      );
    }
    await eventually("the message arrives", () => eventsOf(shop.projectId).length > 0);
    // What is sent after the first message arrives after it.
    await report(...others.slice(1), service(shop, { name: "service-1", state: "down" }));
    await eventually("the second message arrives", () =>
      eventsOf(shop.projectId).some(({ data }) => data.service.name === "service-1"),
    );
    expect(eventsOf(shop.projectId).map(({ type, data }) => [type, data.service.name])).toEqual([
      ["service.down", "service-0"],
      ["service.down", "service-1"],
    ]);
  });
});

describe("a crash loop of a new release", () => {
  const looping = () => ({
    state: "restarting" as const,
    startedAt: secondsAgo(30),
    exits: [20, 18, 15, 10, 1].map(secondsAgo),
    restarts: 5,
  });
  const rollbacksOf = async (projectId: number) =>
    (
      await admin.expect<{ items: { id: number; rollbackTo: number | null; triggeredBy: string }[] }>(
        200,
        "GET",
        `/api/tasks?projectId=${projectId}`,
      )
    ).items.filter(({ rollbackTo }) => rollbackTo !== null);

  test("brings the release before back, with one task", async () => {
    const first = await deployed(["web"]);
    const second = await deploy(first.projectId);
    await report(service(second, looping()));
    await report(service(second, looping()));
    const [rollback, ...more] = await rollbacksOf(first.projectId);
    expect(more).toEqual([]);
    expect(rollback).toMatchObject({ rollbackTo: first.taskId, triggeredBy: "Slipway" });
    const instruction = await scene.claimNow();
    expect(instruction).toMatchObject({ taskId: rollback?.id, release: { from: { taskId: first.taskId } } });
    expect(instruction?.services?.map(({ name }) => name)).toEqual(["web"]);
    if (instruction) await scene.finish(instruction, "failed", "it did not start");
    await report(service(second, looping()));
    expect(await rollbacksOf(first.projectId)).toHaveLength(1);
    const log = await admin.expect<{ lines: { text: string }[] }>(
      200,
      "GET",
      `/api/tasks/${rollback?.id}/log`,
    );
    expect(log.lines[0]?.text).toContain("the service web ended 5 times within a minute");
  });

  test.each([
    ["the project turned rollbacks off", { rollback: "off" }, 0],
    ["the time for it is 0", { rollbackWithin: 0 }, 0],
    ["its deploy is longer ago", {}, 11 * 60_000],
  ])("does not, if %s", async (_why, more, laterMs) => {
    const { projectId } = await deployed(["web"], more);
    const second = await deploy(projectId);
    clock.advance(laterMs);
    await report(service(second, looping()));
    expect(await rollbacksOf(projectId)).toEqual([]);
  });

  test("does not while another task is unfinished, whose deploy may be the fix", async () => {
    const { projectId } = await deployed(["web"], { supersede: "queued" });
    const second = await deploy(projectId);
    const fix = await scene.client.run(projectId);
    await report(service(second, looping()));
    expect(await rollbacksOf(projectId)).toEqual([]);
    await admin.expect(200, "POST", `/api/tasks/${fix.id}/cancel`);
    await report(service(second, looping()));
    expect(await rollbacksOf(projectId)).toHaveLength(1);
  });
});
