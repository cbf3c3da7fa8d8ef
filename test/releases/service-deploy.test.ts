import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { textOf } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { isAlive, watchProcesses } from "../support/process-watch.ts";
import { answerOf } from "../support/release-scene.ts";
import { setUpReleases, webBeside } from "../support/releases-setup.ts";

const { server, gitUrl, newPort, serviceProject, read, deploy } = await setUpReleases();

const started = (start: Record<string, unknown> | unknown[]) =>
  server.project(gitUrl, {}, { pipeline: { start } });

describe("a second deploy", () => {
  test("on a fixed port: the new commit serves and the old process is gone", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    const first = await deploy(projectId, "success", "first");
    const before = await answerOf(port);
    expect(before.commit).toBe(first.commit);
    const second = await deploy(projectId, "success", "second");
    const after = await answerOf(port);
    expect(after.commit).toBe(second.commit);
    expect(isAlive(before.pid)).toBe(false);
    expect(await read(projectId)).toMatchObject({
      liveTaskId: second.task.id,
      services: { state: "serving", serving: 1, total: 1 },
    });
  });

  test("on $PORT: both run until the switch script has pointed the proxy to the new one, and no request fails", async () => {
    const port = newPort();
    const upstream = join(server.scratch, `upstream-${port}`);
    const check = { http: "/", expect: "$CI_COMMIT", within: 10 };
    const projectId = await started({ web: webBeside({ check, switch: `echo "$PORT" >${upstream}` }) });
    const upstreamUrl = async () => `http://127.0.0.1:${(await Bun.file(upstream).text()).trim()}/`;
    const proxy = Bun.serve({
      port,
      hostname: "127.0.0.1",
      async fetch() {
        const url = await upstreamUrl();
        return fetch(url).catch(async (error: unknown) => {
          // The switch may happen after the file was read.
          const newUrl = await upstreamUrl();
          if (newUrl === url) throw error;
          return fetch(newUrl);
        });
      },
    });
    try {
      const first = await deploy(projectId, "success", "first");
      const before = await answerOf(port);
      expect(before.commit).toBe(first.commit);
      const seen = new Set<string>();
      let failures = 0;
      let isOver = false;
      const asking = (async () => {
        while (!isOver) {
          await answerOf(port).then(
            ({ commit }) => seen.add(commit),
            () => {
              failures += 1;
            },
          );
          await Bun.sleep(5); // The pace of the requests.
        }
      })();
      const second = await deploy(projectId, "success", "second");
      await eventually("the earlier one has ended", () => !isAlive(before.pid));
      isOver = true;
      await asking;
      expect((await answerOf(port)).commit).toBe(second.commit);
      expect([...seen]).toContain(first.commit);
      expect(failures).toBe(0);
    } finally {
      await proxy.stop(true);
    }
  });

  test("of a release without services ends those of the earlier one", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    await deploy(projectId, "success", "with a service");
    const { pid } = await answerOf(port);
    await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
      pipeline: { start: [{ script: "echo started elsewhere" }] },
    });
    const { task } = await deploy(projectId, "success", "without");
    // Its drain is for services on `$PORT`, which go on beside the next release.
    await eventually("the service has ended", () => !isAlive(pid), 10_000);
    await eventually("the server knows it", async () => (await read(projectId)).services === null);
    expect(await read(projectId)).toMatchObject({ liveTaskId: task.id });
  });
});

describe("a start must be proven", () => {
  test("without a check it must live for 5 seconds", async () => {
    const short = await started({ web: { command: "sleep 2" } });
    const { task } = await deploy(short, "failed");
    expect(task.reason).toBe("the service web ended by itself (0); there was no output");
    const long = await started({ web: { command: "exec sleep 300" } });
    await deploy(long, "success");
    expect(await read(long)).toMatchObject({ services: { state: "serving", serving: 1, total: 1 } });
  });

  test("a step starts what is managed elsewhere, and its check tells the commits apart", async () => {
    const commitFile = join(server.scratch, "managed");
    const elsewhere = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async () => new Response(`version ${await Bun.file(commitFile).text()}`),
    });
    try {
      const check = { http: `http://127.0.0.1:${elsewhere.port}/`, expect: "version $CI_COMMIT", within: 10 };
      const good = await started([{ script: `printf %s "$CI_COMMIT" >${commitFile}`, check }]);
      await deploy(good, "success");
      const stale = await started([{ script: "true", check: { ...check, within: 2 } }]);
      const { task } = await deploy(stale, "failed", "not restarted");
      expect(task.reason).toContain("the response does not contain");
    } finally {
      await elsewhere.stop(true);
    }
  });

  test("what a service prints until its check passes is in the log of the task, and it lives on when it prints", async () => {
    const port = newPort();
    const projectId = await serviceProject(port);
    const { task } = await deploy(projectId, "success");
    expect(textOf(await server.log(task.id))).toContain("printed before listening");
    for (let i = 0; i < 20; i++) await answerOf(port);
    expect((await answerOf(port)).count).toBeGreaterThan(20);
  });
});

describe("a service of a start script of version 1.0", () => {
  test("lives as long as a process that the script left, and the next deploy ends all of them", async () => {
    const watch = watchProcesses();
    const record = `echo $$ >>${watch.file}; exec sleep 300`;
    const script = `sh -c '${record}' &\nsh -c '${record}' &\necho both are started`;
    const projectId = await server.project(gitUrl, { start: script });
    await deploy(projectId, "success", "first");
    const earlier = await watch.all(2);
    expect(earlier.map(isAlive)).toEqual([true, true]);
    expect((await read(projectId)).warnings.join()).toContain("start");
    await deploy(projectId, "success", "second");
    await watch.all(4);
    expect(earlier.map(isAlive)).toEqual([false, false]);
    expect(watch.alive()).toHaveLength(2);
  });

  test("is down when its last process has ended, and is started again", async () => {
    const watch = watchProcesses();
    const projectId = await server.project(gitUrl, {
      start: `true; sh -c 'echo $$ >>${watch.file}; exec sleep 300' &`,
    });
    await deploy(projectId, "success");
    const [first = 0] = await watch.all(1);
    process.kill(first, "SIGKILL");
    const [, again = 0] = await watch.all(2);
    expect(isAlive(again)).toBe(true);
  });
});
