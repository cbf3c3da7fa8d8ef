import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { setUpServerProcess } from "../support/deploy-setup.ts";
import { startCollector } from "../support/otlp-collector.ts";

const collector = startCollector();
const { server, repository, start } = await setUpServerProcess({
  "telemetry-otlp-endpoint": collector.url,
});
afterAll(() => collector.stop());

test("the trace of a task is whole after kill -9 of its server", async () => {
  const projectId = await server.project(repository.url, {
    build: `echo building; while [ ! -f "${server.scratch}/go" ]; do sleep 0.05; done`,
    deploy: "true",
  });
  const { id } = await server.run(projectId);
  await server.logged(id, "building");
  await collector.trace("manual start", { "slipway.task.id": id }, []);
  await server.end("SIGKILL");
  const next = await start();
  await Bun.write(join(server.scratch, "go"), "");
  await next.reach(id, "success");
  const wanted = ["queue", "checkout", "stage build", "stage deploy"].map(
    (name) => `manual start > task > ${name}`,
  );
  const spans = await collector.trace("task", { "slipway.task.id": id }, ["manual start", ...wanted]);
  const [build, task] = ["stage build", "task"].map((name) => spans.filter((span) => span.name === name));
  expect([build?.length, task?.length]).toEqual([1, 1]);
});
