import { expect, test } from "bun:test";
import { eventually } from "../support/eventually.ts";
import { isAlive } from "../support/process-watch.ts";
import { startServerProcess } from "../support/server-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const spellings: Record<string, string>[] = [
  {},
  { NO_PROXY: "example.com" },
  { no_proxy: "example.com", NO_PROXY: "example.org" },
];
test.each(spellings)(
  "with HTTP_PROXY and %j the calls of a server to itself and of its local runner stay on this machine",
  async (more) => {
    const seen: string[] = [];
    const proxy = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch(request) {
        seen.push(request.url);
        return new Response("", { status: 502 });
      },
    });
    const dataDir = temporaryFolder("proxy");
    const address = `http://127.0.0.1:${proxy.port}`;
    const server = await startServerProcess(dataDir, { "webhook-debounce-seconds": "0" }, [], {
      HTTP_PROXY: address,
      http_proxy: address,
      HTTPS_PROXY: address,
      ...more,
    });
    try {
      // The sample pushes to the webhook of its own server, and its scripts run at the local runner.
      const { taskId } = await server.admin.expect<{ taskId: number }>(201, "POST", "/api/samples");
      await server.reach(taskId, "success");
      const project = await server.task(taskId);
      const script = 'set +u; echo "proxy=$HTTP_PROXY no=$NO_PROXY/$no_proxy"';
      await server.admin.expect(200, "PATCH", `/api/projects/${project.projectId}`, {
        stages: { build: { script } },
      });
      const again = await server.run(project.projectId);
      const given = `proxy=${address} no=${more.NO_PROXY ?? ""}/${more.no_proxy ?? ""}`;
      await server.logged(again.id, given);
      await server.reach(again.id);
      expect(seen).toEqual([]);
    } finally {
      const runner = server.runnerPid();
      await server.end("SIGTERM");
      await eventually("the idle runner ends with its server", () => !isAlive(runner));
      await proxy.stop(true);
    }
  },
);
