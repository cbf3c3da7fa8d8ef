import { afterAll, expect, test } from "bun:test";
import pino from "pino";
import { SlipwayPush } from "../../client/slipway-push.ts";
import { buildApp } from "../../src/app.ts";
import { configOf } from "../../src/config/config-load.ts";
import type { LiveMessage } from "../../src/task/events/console-messages.ts";
import { startApiServer } from "../support/api-server.ts";
import { deployClient } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { startCollector } from "../support/otlp-collector.ts";
import { registerRunner } from "../support/protocol-runner.ts";

const apiKey = "key-between-the-roles";

const port = freePort();
const collector = startCollector();
const deploy = await startApiServer({
  "telemetry.otlp-endpoint": collector.url,
  "telemetry.service-name": "deploy",
  "deploy.push.url": `http://127.0.0.1:${port}`,
  "deploy.push.apiKey": apiKey,
});
const config = configOf({
  "server.listen": { host: "127.0.0.1", port },
  "data.dir": deploy.dataDir,
  "push.verify-uri": `${deploy.url}/api/push/verify`,
  "telemetry.otlp-endpoint": collector.url,
  "telemetry.service-name": "push",
  "push.api-keys": [apiKey],
  "push.drain-delay": 0,
  "push.drain-period": 0,
});
const push = await buildApp(config, "push", pino({ level: "silent" }));
const runner = await registerRunner(deploy.url, deploy.admin, { name: "by hand" });
afterAll(async () => {
  await push.stop();
  await deploy.stop();
  collector.stop();
});

test("when the roles run separately, live events go through the push role's /feign/publish, with their trace", async () => {
  const client = await deployClient(deploy.url, deploy.dataDir);
  const projectId = await client.project("https://git.example.com/shop.git", { build: "make" });
  const messages: LiveMessage[] = [];
  const live = new SlipwayPush({
    url: `${push.url}/ws`,
    temporary: true,
    code: async () =>
      (await deploy.admin.expect<{ code: string }>(201, "POST", "/api/push/codes", { for: "console" })).code,
  });
  live.on("message", ({ data }) => messages.push(JSON.parse(data) as LiveMessage));
  live.open();
  await eventually("the console is connected", () => live.status.state === "open");
  const { id } = await client.run(projectId);
  const channels = [`private-project-${projectId}`, `private-project-${projectId}/task-${id}`];
  const joined = new Set<string>();
  live.on("joined", (channel) => joined.add(channel));
  for (const channel of channels) live.join(channel);
  await eventually("the channels are joined", () => joined.size === 2);

  const held = await runner.claim();
  if (!held) throw new Error("nothing was claimed");
  const line = { stage: "build", at: new Date().toISOString(), text: "built" };
  await runner.call("stage", held, { stage: "checkout", state: "running", exitCode: null });
  await runner.call("log", held, { from: 0, lines: [line] });
  await runner.call("finish", held, { state: "success", reason: "" });
  await eventually("the end is published", () =>
    messages.some((message) => message.type === "task" && message.event === "task.succeeded"),
  );
  const logged = messages.flatMap((message) => (message.type === "log" ? message.lines : []));
  expect(logged).toEqual([{ index: 0, stage: "build", step: null, at: line.at, text: "built" }]);
  live.close();
  const message = "manual start > task > message task.succeeded";
  const wanted = [message, `${message} > publish`, `${message} > publish > deliver`];
  const spans = await collector.trace("task", { "slipway.task.id": id }, wanted);
  const servicesOf = (...names: string[]) =>
    new Set(spans.flatMap(({ name, service }) => (names.includes(name) ? [service] : [])));
  expect([...servicesOf("task", "message task.succeeded")]).toEqual(["deploy"]);
  expect([...servicesOf("publish", "deliver")]).toEqual(["push"]);
});
