import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { currentProgram } from "../../src/launch/built-program.ts";
import { freshPrefix } from "../support/buses.ts";
import { makeRepository } from "../support/git-repository.ts";
import { startCollector } from "../support/otlp-collector.ts";
import { startPushProcess } from "../support/push-process.ts";
import { startServerProcess } from "../support/server-process.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const builder = join(import.meta.dir, "../../scripts/build-program.ts");
const dataDir = temporaryFolder("built-server");
const brokers = { kafka: await serviceUrl("kafka"), amqp: await serviceUrl("amqp") };

const built = Bun.spawnSync([process.execPath, builder]);
expect(built.stderr.toString()).toBe("");
const program = currentProgram() ?? "";
expect(program).not.toBe("");

describe("the built program", () => {
  test("serves the API from SQLite, its runner runs a task, and the task is traced", async () => {
    const collector = startCollector();
    const repository = await makeRepository();
    const server = await startServerProcess(
      dataDir,
      { "telemetry-otlp-endpoint": collector.url },
      [],
      {},
      program,
    );
    try {
      await repository.push({ "hello.txt": "hello" });
      const project = await server.project(repository.url, { build: "cat hello.txt" });
      const { id } = await server.run(project);
      expect((await server.reach(id, "success")).state).toBe("success");
      await server.logged(id, "hello");
      await collector.trace("task", { "slipway.task.id": id }, ["manual start > task > stage build"]);
      expect((await fetch(`${server.url}/docs`)).status).toBe(200);
      expect((await fetch(`${server.url}/manual/push.html`)).status).toBe(200);
      expect((await fetch(`${server.url}/metrics`)).status).toBe(200);
    } finally {
      expect(await server.end("SIGTERM")).toBe(0);
      collector.stop();
    }
  });

  for (const [name, url] of Object.entries(brokers))
    test.skipIf(url === undefined)(`joins a cluster over ${name}`, async () => {
      const gateway = await startPushProcess(
        `built-${name}`,
        {
          "push-verify-uri": "http://127.0.0.1:9/verify",
          "push-cluster-enabled": "true",
          "push-queue-url": url ?? "",
          "push-queue-prefix": freshPrefix(),
        },
        [process.execPath, program],
      );
      expect(await gateway.isReady()).toBe(true);
      await gateway.stop();
    });
});
