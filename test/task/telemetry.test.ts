import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { readTraceparent } from "../../src/telemetry/trace-context.ts";
import { eventually } from "../support/eventually.ts";
import { treeOf } from "../support/otlp-collector.ts";
import { openTraceScene } from "../support/trace-scene.ts";

const scene = await openTraceScene({ "telemetry.otlp-headers": ["authorization=Bearer%20abc"] });
const { server, collector } = scene;
afterAll(() => scene.close());

/** Of each event of a task the project's channel and the task's get a message; the open tab listens to the first. */
const messages = (event: string) => [
  `delivery > task > message ${event}`,
  `delivery > task > message ${event}`,
  `delivery > task > message ${event} > publish`,
  `delivery > task > message ${event} > publish`,
  `delivery > task > message ${event} > publish > deliver`,
];
const commitStatus = "delivery > task > commit status";

describe("a push is one trace", () => {
  test("from the delivery to the message in the open tab", async () => {
    const { projectId, repository, statuses } = await scene.project({
      build: 'echo "trace: $TRACEPARENT"',
      deploy: "true",
    });
    const tab = await scene.openTab(projectId);
    const commit = await repository.push({ "version.txt": "2\n" }, { message: "Sell pears" });
    const taskId = await tab.event("task.succeeded");
    tab.close();
    const expected = [
      "delivery",
      "delivery > decision",
      "delivery > task",
      "delivery > task > checkout",
      ...["task.queued", "task.started", "task.succeeded"].flatMap(messages),
      ...["delivery > task > notification", "delivery > task > notification"],
      "delivery > task > notification",
      "delivery > task > queue",
      "delivery > task > stage build",
      "delivery > task > stage deploy",
    ].sort();
    await eventually("the host has the last status", () => statuses.at(-1) === "success");
    const spans = await collector.trace("task", { "slipway.task.id": taskId }, [...expected, commitStatus]);
    // A status that was not sent yet is replaced by the next one.
    expect(treeOf(spans).filter((path) => path !== commitStatus)).toEqual(expected);
    const named = (name: string) => spans.filter((span) => span.name === name);
    expect(named("delivery")).toMatchObject([
      {
        kind: "server",
        service: "slipway",
        fault: null,
        attributes: {
          "slipway.delivery.code": "accepted",
          "slipway.task.id": taskId,
          "slipway.project.id": projectId,
          "vcs.ref.head.name": "refs/heads/main",
          "http.response.status_code": 202,
        },
      },
    ]);
    expect(named("task")).toMatchObject([
      { fault: null, attributes: { "slipway.task.state": "success", "vcs.ref.head.revision": commit } },
    ]);
    expect(named("stage build")).toMatchObject([{ attributes: { "process.exit.code": 0 } }]);
    expect(named("deliver").map(({ attributes }) => attributes["slipway.push.receivers"])).toEqual([1, 1, 1]);
    for (const { kind, attributes } of named("commit status"))
      expect([kind, attributes["http.response.status_code"]]).toEqual(["client", 201]);
    for (const { startMs, endMs } of spans) expect(endMs).toBeGreaterThanOrEqual(startMs);
    const told = await scene.notifications.event(taskId, "task.succeeded");
    const context = readTraceparent(told.headers.get("traceparent"));
    expect(named("notification").map(({ spanId }) => spanId)).toContain(context?.spanId as string);
    expect(collector.headers[0]?.get("authorization")).toBe("Bearer abc");
    const [task] = named("task");
    const line = (await server.log(taskId)).find(({ text }) => text.startsWith("trace: "));
    expect(line?.text).toBe(`trace: 00-${task?.traceId}-${task?.spanId}-01`);
  });

  test("also if the build fails", async () => {
    const { projectId, repository } = await scene.project({ build: "exit 3", deploy: "true" });
    const tab = await scene.openTab(projectId);
    await repository.push({ "version.txt": "3\n" });
    const taskId = await tab.event("task.failed");
    tab.close();
    const wanted = ["delivery > task", "delivery > task > message task.failed > publish > deliver"];
    const spans = await collector.trace("stage build", { "process.exit.code": 3 }, wanted);
    expect(treeOf(spans)).not.toContain("delivery > task > stage deploy");
    const [task] = spans.filter(({ name }) => name === "task");
    const [build] = spans.filter(({ name }) => name === "stage build");
    expect([task?.attributes["slipway.task.id"], build?.fault]).toEqual([taskId, "failed"]);
    expect(task?.fault).toContain("build");
  });

  test("a task that a user starts has a trace of its own", async () => {
    const { projectId } = await scene.project({ build: "true" });
    const { id } = await server.run(projectId);
    await server.reach(id, "success");
    await collector.trace("task", { "slipway.task.id": id }, ["manual start > task > stage build"]);
  });
});

describe("a delivery that is refused", () => {
  const sent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;

  test("is a trace of one span, and its sender cannot continue another trace", async () => {
    const { hookUrl, projectId } = await scene.project({ build: "true" });
    const response = await fetch(hookUrl, {
      method: "POST",
      headers: { "content-type": "application/json", "x-gitea-event": "push", traceparent: sent },
      body: "{}",
    });
    expect(response.status).toBe(401);
    const about = { "slipway.project.id": projectId, "slipway.delivery.code": "signature_invalid" };
    const spans = await collector.trace("delivery", about, ["delivery"]);
    expect(treeOf(spans)).toEqual(["delivery"]);
    expect(spans).toMatchObject([{ fault: null, attributes: { "http.response.status_code": 401 } }]);
    expect(collector.ofTrace("a".repeat(32))).toEqual([]);
  });
});

test("log lines of a delivery, a task and a publish name their span", async () => {
  const lines = server.logLines.map((line) => JSON.parse(line) as Record<string, string>);
  const spansOf = (text: string) => lines.filter(({ msg, span_id }) => msg === text && span_id !== undefined);
  const named = ["a delivery was recorded", "a task is queued", "a task has ended", "published"].map(spansOf);
  for (const found of named) expect(found.length).toBeGreaterThan(1);
  const isSent = ({ trace_id, span_id }: Record<string, string>) =>
    collector.spans.some(({ traceId, spanId }) => traceId === trace_id && spanId === span_id);
  await eventually("every span that a line names is sent", () => named.flat().every(isSent));
});

test("docs/telemetry.md names every span", async () => {
  const page = await Bun.file(join(import.meta.dir, "../../docs/telemetry.md")).text();
  const names = new Set(collector.spans.map(({ name }) => name));
  expect(names.size).toBeGreaterThan(12);
  // Of the messages it names some, and the others follow.
  for (const name of names) if (name !== "message task.failed") expect(page).toContain(`\`${name}\``);
});
