import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { main } from "../support/program.ts";
import type { PushClient } from "../support/push-client.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { makeTestUser } from "../support/test-user.ts";
import { startVerifyService } from "../support/verify-service.ts";
import { childrenOf, isAlive, startWorkers, type WorkerInstance } from "../support/worker-instance.ts";

const verify = startVerifyService();
const folder = temporaryFolder("workers-test");
let instance: WorkerInstance | undefined;

afterEach(async () => {
  await instance?.stop();
  instance = undefined;
});
afterAll(() => verify.stop());

async function start(settings: Record<string, string> = {}, workers = 3): Promise<WorkerInstance> {
  instance = await startWorkers(workers, { "push-verify-uri": verify.url, ...settings });
  return instance;
}

/** Begins before the other tests, because a worker may be silent for ten seconds before it is replaced. */
const hanging = (async () => {
  const push = await startWorkers(3, { "push-verify-uri": verify.url });
  const opened = await push.openOnEach("code=anna");
  const [victim = 0] = push.workerPids();
  process.kill(victim, "SIGSTOP");
  // Several, because a call on a connection that the stopped worker accepted is not answered.
  const calls = Array.from({ length: 8 }, () => push.publish({ targetType: "all", data: "x" }));
  const published = await Promise.any(calls);
  return { push, victim, opened, published };
})();
// A failure is reported by the test that awaits it.
hanging.catch(() => {});

const portOf = (url: string) => Number(new URL(url).port);

/** Starts another server and returns how it ended. A server that listens is killed after a while. */
async function startOther(role: "push" | "start", listen: string, more: string[] = []) {
  const other = spawnOther(role, listen, more);
  const stderr = await new Response(other.stderr).text();
  await other.exited;
  return { exitCode: other.exitCode, stderr };
}

function spawnOther(role: "push" | "start", listen: string, more: string[] = []) {
  return Bun.spawn(
    [process.execPath, main, role, "--server-listen", listen, "--push-verify-uri", verify.url, ...more],
    {
      cwd: folder,
      env: {
        PATH: process.env.PATH ?? "",
        HOME: folder,
        SLIPWAY_DATA_DIR: mkdtempSync(join(folder, "data-")),
      },
      ...{ stdin: "ignore", stdout: "ignore", stderr: "pipe", timeout: 50_000, killSignal: "SIGKILL" },
    },
  );
}

const socketFolderOf = (url: string) => {
  const prefix = `slipway-127.0.0.1-${portOf(url)}-`;
  const [name] = readdirSync(tmpdir()).filter((each) => each.startsWith(prefix));
  return join(tmpdir(), name ?? "missing");
};

describe("the port of several workers", () => {
  test("is refused to another supervisor, a push and a start, also on every address and while no worker listens", async () => {
    const push = await start();
    const port = portOf(push.url);
    const refused = (listen: string) => ({
      exitCode: 1,
      stderr: expect.stringMatching(
        new RegExp(`^Another program listens on ${listen}.*PORT=${port + 1}.*server\\.listen`),
      ),
    });
    const own = `127.0.0.1:${port}`;
    const everyAddress = `0.0.0.0:${port}`;
    const attempts = [
      ["push", own, ["--workers", "2"]],
      ["push", own, []],
      ["start", own, []],
      ["push", everyAddress, ["--workers", "2"]],
      ["push", everyAddress, []],
    ] as const;
    await Promise.all(
      attempts.map(async ([role, listen, more]) =>
        expect(await startOther(role, listen, [...more])).toMatchObject(refused(listen)),
      ),
    );
    for (const pid of push.workerPids()) process.kill(pid, "SIGKILL");
    expect(await startOther("push", own)).toMatchObject(refused(own));
    await eventually("it serves again", push.isReady);
  });

  test("several workers are refused where another server listens", async () => {
    const push = await start({}, 1);
    const listen = `127.0.0.1:${portOf(push.url)}`;
    const { exitCode, stderr } = await startOther("push", listen, ["--workers", "2"]);
    expect([exitCode, stderr.trim().split("\n").length]).toEqual([1, 1]);
    expect(stderr).toStartWith(`Another program listens on ${listen}`);
  });

  test("a wrong setting is reported once, with exit code 2", async () => {
    const listen = `127.0.0.1:${freePort()}`;
    const { exitCode, stderr } = await startOther("push", listen, ["--workers", "0"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('push.workers: "0" must be a whole number from 1 to 512, or auto');
  });
});

describe("the socket of the workers", () => {
  test("is closed to other users and to connections without the secret, which is in no argument or environment", async () => {
    const push = await start();
    const socketFolder = socketFolderOf(push.url);
    const socket = join(socketFolder, "workers.sock");
    expect(statSync(socketFolder).mode & 0o777).toBe(0o700);
    expect(statSync(socket).mode & 0o777).toBe(0o600);

    for (const pid of [push.pid, ...push.workerPids()])
      for (const file of ["cmdline", "environ"])
        expect(readFileSync(`/proc/${pid}/${file}`, "utf8")).not.toMatch(/secret|workers\.sock/);

    const secrets = ["", "wrong", "x".repeat(43)];
    for (const secret of secrets) expect(await hello(socket, { type: "hello", secret })).toBe("closed");
    expect(await hello(socket, { type: "subscribe" })).toBe("closed");
    expect(await hello(socket, { type: "hello", secret: "x".repeat(100_000) })).toBe("closed");
    expect(await hello(socket, "not a frame at all, but quite long")).toBe("closed");

    const user = await makeTestUser();
    if (user) {
      const script = `Bun.connect({unix:${JSON.stringify(socket)},socket:{data(){},open(){console.log("open")}}}).catch((e)=>console.log(e.code))`;
      const attempt = Bun.spawnSync([process.execPath, "-e", script], {
        ...{ cwd: "/", uid: user.uid, gid: user.gid, env: { HOME: user.home } },
      } as never);
      expect(attempt.stdout.toString().trim()).toBe("EACCES");
    }
    expect(await push.isReady()).toBe(true);
    await push.end("SIGTERM");
    expect(readdirSync(tmpdir())).not.toContain(socketFolder.split("/").at(-1));
  });

  /** What the supervisor does with a connection that begins like this. */
  async function hello(path: string, first: object | string): Promise<"closed" | "answered"> {
    const { promise, resolve } = Promise.withResolvers<"closed" | "answered">();
    const connection = await Bun.connect({
      unix: path,
      socket: {
        data: () => resolve("answered"),
        close: () => resolve("closed"),
        error: () => resolve("closed"),
      },
    });
    const header = Buffer.from(JSON.stringify(first));
    const lengths = Buffer.alloc(8);
    lengths.writeUInt32LE(header.length, 0);
    connection.write(typeof first === "string" ? Buffer.from(first) : Buffer.concat([lengths, header]));
    return promise;
  }
});

describe("a worker that ends", () => {
  test("is replaced within a second; its clients resume, and the others notice nothing", async () => {
    const startedAt = performance.now();
    const push = await start();
    const startMs = performance.now() - startedAt;
    const opened = await push.openOnEach("code=anna");
    await push.publish({ targetType: "all", data: "before" });
    for (const client of opened) await eventually("it arrives", () => client.messages.length === 1);
    const [victim = 0] = push.workerPids();
    process.kill(victim, "SIGKILL");
    await eventually("one connection ends", () => opened.some(({ closed }) => closed !== null));
    // Its listening socket is closed last, with a reset of the connections that wait there. Then the supervisor reaps it.
    await eventually("the worker has ended", () => !existsSync(`/proc/${victim}`));
    const endedAt = performance.now();
    // Through the other workers, while the new one starts.
    const meanwhile = await push.publish({ targetType: "all", data: "meanwhile" });
    expect(meanwhile.headers.get("x-push-receivers")).toBe("2");
    await eventually("the worker is replaced", push.isReady);
    const replacedMs = performance.now() - endedAt;
    expect(push.workerPids()).toHaveLength(3);
    expect(push.workerPids()).not.toContain(victim);
    const ended = opened.find(({ closed }) => closed !== null) as PushClient;
    const resumed = await push.open(`code=anna&resume=${ended.ofType("message")[0]?.id}`, ["slipway.v1"]);
    await eventually("it gets the missed message", () => resumed.messages.length === 1);
    expect(resumed.ofType("welcome")[0]).toMatchObject({ recovered: true });
    expect(resumed.messages).toEqual(["meanwhile"]);
    for (const client of opened.filter((each) => each !== ended)) {
      expect(client.closed).toBeNull();
      expect(client.messages).toEqual(["before", "meanwhile"]);
    }
    // The target is one second; on a machine with other work, one worker takes no longer than three of them.
    expect(replacedMs).toBeLessThan(Math.max(15_000, 2 * startMs));
    expect(push.output()).toContain("a worker ended; it is started again");
  });

  test("again and again is reported, and ends the supervisor with an error", async () => {
    const push = await start({ "push-drain-period": "0s" });
    const client = await push.open("code=anna");
    // Workers that start cannot reach their supervisor any more.
    rmSync(join(socketFolderOf(push.url), "workers.sock"));
    process.kill(push.workerPids()[0] ?? 0, "SIGKILL");
    await eventually("the supervisor ends", () => !push.isRunning());
    expect(push.output()).toMatch(/The gateway ends: worker 1 ended \d+ times in a short time/);
    expect(await exitCodeOf(push)).toBe(1);
    await client.ended();
  });
});

describe("a start", () => {
  test("ends with an error when a worker ends before it serves", async () => {
    const push = spawnOther("push", `127.0.0.1:${freePort()}`, ["--workers", "2"]);
    await eventually("a worker starts", () => childrenOf(push.pid).length > 0);
    process.kill(childrenOf(push.pid)[0] ?? 0, "SIGKILL");
    const stderr = await new Response(push.stderr).text();
    await push.exited;
    expect([push.exitCode, push.signalCode]).toEqual([1, null]);
    expect(stderr).toContain("The gateway does not start: worker 1 ended with SIGKILL while it started.");
  });

  test("succeeds when a worker gets no time for some seconds while it loads the client of its queue", async () => {
    const port = freePort();
    const push = spawnOther("push", `127.0.0.1:${port}`, [
      ...["--workers", "2", "--push-cluster-enabled", "true", "--push-queue-url", "kafka://127.0.0.1:1"],
    ]);
    try {
      const connected = () => readFileSync("/proc/net/unix", "utf8").match(socketsOf(port))?.length ?? 0;
      await eventually("both workers have connected", () => connected() === 2);
      const workers = childrenOf(push.pid);
      for (const pid of workers) process.kill(pid, "SIGSTOP");
      // The "some seconds" of the title.
      await Bun.sleep(3_000);
      for (const pid of workers) process.kill(pid, "SIGCONT");
      await eventually("it serves", async () =>
        fetch(`http://127.0.0.1:${port}/livez`).then(
          ({ ok }) => ok,
          () => false,
        ),
      );
      expect(childrenOf(push.pid)).toEqual(workers);
    } finally {
      push.kill("SIGKILL");
      await push.exited;
    }
  });

  /** The connected sockets of a supervisor in /proc/net/unix. */
  const socketsOf = (port: number) => new RegExp(` 03 +\\d+ .*-${port}-.*workers\\.sock$`, "gm");
});

describe("a worker that hangs", () => {
  test("delays publishers for at most a few seconds, and is replaced", async () => {
    const { push, victim, opened, published } = await hanging;
    try {
      expect([published.status, published.headers.get("x-push-receivers")]).toEqual([200, "2"]);
      await eventually("it is replaced", () => !isAlive(victim));
      await eventually("all serve", push.isReady);
      expect(opened.filter(({ closed }) => closed === null)).toHaveLength(2);
      expect((await push.publish({ targetType: "all", data: "after" })).headers.get("x-push-receivers")).toBe(
        "2",
      );
    } finally {
      await push.stop();
    }
  });
});

async function exitCodeOf(push: WorkerInstance): Promise<number | null> {
  await push.end("SIGKILL");
  return push.exitCode();
}

describe("the supervisor", () => {
  test("SIGTERM drains all workers at once: every connection is closed with 1012, then it ends with 0", async () => {
    const push = await start({ "push-drain-delay": "60s", "push-drain-period": "60s" });
    const opened = await push.openOnEach("code=anna");
    const workers = push.workerPids();
    await push.publish({ targetType: "all", data: "before" });
    process.kill(push.pid, "SIGTERM");
    for (const client of opened) {
      expect((await client.ended()).code).toBe(1012);
      expect(client.messages).toEqual(["before"]);
    }
    await eventually("the supervisor ends", () => !push.isRunning());
    expect(await exitCodeOf(push)).toBe(0);
    expect(workers.filter(isAlive)).toEqual([]);
  });

  test("a signal to all processes of the service drains in the same way", async () => {
    const push = await start();
    const opened = await push.openOnEach("code=anna");
    for (const pid of [...push.workerPids(), push.pid]) process.kill(pid, "SIGTERM");
    for (const client of opened) expect((await client.ended()).code).toBe(1012);
    await eventually("the supervisor ends", () => !push.isRunning());
    expect(await exitCodeOf(push)).toBe(0);
  });

  test("killed with -9 takes all workers with it, and can start again on its port at once", async () => {
    const push = await start();
    const workers = push.workerPids();
    await push.openOnEach("code=anna");
    await push.publish({ targetType: "all", data: "first" }, { "idempotency-key": "over a restart" });
    const socketFolder = socketFolderOf(push.url);
    await push.end("SIGKILL");
    await push.start();
    await eventually("the workers end", () => !workers.some(isAlive));
    await eventually("their folder is removed", () => !existsSync(socketFolder));
    expect(childrenOf(push.pid)).toHaveLength(3);
    const again = await push.publish(
      { targetType: "all", data: "other" },
      { "idempotency-key": "over a restart" },
    );
    expect(again.status).toBe(409);
  });
});
