import { afterAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setUpServerProcess } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";
import { serveGit } from "../support/git-http-server.ts";

const { repository, dataDir, start, ...first } = await setUpServerProcess({
  "webhook-reconcile-minutes": "600",
  "webhook-debounce-seconds": "0",
});
let { server } = first;

const token = `secret-${crypto.randomUUID()}`;
const host = serveGit(join(repository.url, ".."), { username: "bot", token });
/** Forwards to the Git host, or never answers. */
let isHanging = false;
let hanging = 0;
const gate = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  async fetch(request) {
    if (isHanging) {
      hanging++;
      await new Promise(() => {});
    }
    const url = new URL(request.url);
    return fetch(`${host.url}${url.pathname}${url.search}`, {
      method: request.method,
      headers: request.headers,
      ...(request.method === "POST" ? { body: await request.arrayBuffer() } : {}),
      decompress: false,
    } as RequestInit);
  },
});
afterAll(() => {
  gate.stop(true);
  host.stop();
});

/** Processes that run in the folder of polls. */
function pollProcesses(): { pid: number; command: string }[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const environment = readFileSync(`/proc/${pid}/environ`, "utf8");
        if (!environment.includes(`HOME=${join(dataDir, "poll")}/`)) return [];
        return [{ pid: Number(pid), command: readFileSync(`/proc/${pid}/cmdline`, "utf8") }];
      } catch {
        return [];
      }
    });
}

test("kill -9 in the middle of a poll leaves no process and no credential, and the push is built after the restart", async () => {
  const id = await server.project(`${gate.url.origin}/shop.git`, { build: "cat app.txt" });
  await server.admin.expect(204, "PUT", `/api/projects/${id}/credential`, {
    type: "token",
    username: "bot",
    token,
  });
  await server.admin.expect(200, "PUT", `/api/projects/${id}/webhook`, { enabled: true });
  const poll = async () => {
    const path = `/api/projects/${id}/webhook`;
    return (await server.admin.expect<{ poll: { lastAt: string | null; error: string } }>(200, "GET", path))
      .poll;
  };
  await server.end("SIGTERM");
  server = await start();
  await eventually("the first poll has ended", async () => (await poll()).lastAt !== null);
  expect((await poll()).error).toBe("");

  const commit = await repository.push({ "app.txt": "two\n" });
  await server.end("SIGTERM");
  isHanging = true;
  server = await start();
  await eventually("git waits for the host", () => hanging > 0 && pollProcesses().length > 1);
  for (const { command } of pollProcesses()) expect(command).not.toContain(token);
  expect(readdirSync(join(dataDir, "poll"))).toHaveLength(1);
  await server.end("SIGKILL");
  await eventually("git has ended", () => pollProcesses().length === 0);

  isHanging = false;
  server = await start();
  await eventually("the push is built", async () => {
    const { items } = await server.admin.expect<{ items: { commit: string }[] }>(
      200,
      "GET",
      `/api/tasks?projectId=${id}`,
    );
    expect(items.length).toBeLessThan(2);
    return items[0]?.commit === commit;
  });
  await eventually(
    "the folder of the killed poll is gone",
    () => readdirSync(join(dataDir, "poll")).length === 0,
  );

  // SIGTERM ends a poll at once, not after its minute.
  isHanging = true;
  await server.end("SIGTERM");
  server = await start();
  await eventually("git waits again", () => pollProcesses().length > 1);
  const stoppedAt = performance.now();
  expect(await server.end("SIGTERM")).toBe(0);
  expect(performance.now() - stoppedAt).toBeLessThan(20_000);
  expect(pollProcesses()).toEqual([]);
  expect(existsSync(join(dataDir, "poll"))).toBe(false);
  isHanging = false;
  server = await start();
});
