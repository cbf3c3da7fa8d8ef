import { afterEach, describe, expect, test } from "bun:test";
import { setUpServerProcess } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";
import { childrenOf, signalIfAlive, watchProcesses } from "../support/process-watch.ts";

const leaseMs = 10_000;
const settings = { "tasks-lease": `${leaseMs}ms`, "tasks-stop-grace": "60s", "tasks-concurrency": "1" };
const { server, repository } = await setUpServerProcess(settings);
afterEach(() => signalIfAlive(server.runnerPid(), "SIGCONT"));

/** A shell that records its pid and ignores SIGTERM. */
const stubborn = (file: string) =>
  `sh -c 'trap "" TERM; echo $$ >>${file}; while :; do sleep 1; done' >/dev/null 2>&1`;

describe("a runner that hangs (SIGSTOP) beyond its lease", () => {
  test("its scripts have ended when the server decides, also those in another session and without environment", async () => {
    const watch = watchProcesses();
    const deploy = [
      `${stubborn(watch.file)} &`,
      `setsid ${stubborn(watch.file)} &`,
      `env -i PATH="$PATH" setsid ${stubborn(watch.file)} &`,
      "echo deploying",
      stubborn(watch.file),
    ].join("\n");
    const { id } = await server.run(await server.project(repository.url, { deploy }));
    await server.logged(id, "deploying");
    await watch.all(4);
    process.kill(server.runnerPid(), "SIGSTOP");
    expect(watch.alive()).toHaveLength(4);
    const task = await server.reach(id, "lost");
    expect(watch.alive()).toEqual([]);
    expect(task.reason).toContain("vanished during deploy");
  });

  test("the next task of the project does not overlap with a script of the previous one, and the runner works after SIGCONT", async () => {
    const watch = watchProcesses();
    const build = `[ "$CI_ATTEMPT" = 2 ] && exit 0; echo building; ${stubborn(watch.file)}`;
    const { id } = await server.run(await server.project(repository.url, { build }));
    await server.logged(id, "building");
    await watch.all(1);
    process.kill(server.runnerPid(), "SIGSTOP");
    await server.reach(id, "queued");
    expect(watch.alive()).toEqual([]);
    signalIfAlive(server.runnerPid(), "SIGCONT");
    const task = await server.reach(id, "success");
    expect(task.attempt).toBe(2);
    const texts = (await server.log(id)).map((line) => line.text);
    expect(texts.filter((text) => text === "building")).toHaveLength(1);
    expect(texts.filter((text) => text.includes("exit code"))).toEqual([]);
  });

  test("has a new guard process after the first was killed", async () => {
    const watch = watchProcesses();
    const deploy = `echo deploying; ${stubborn(watch.file)}`;
    const { id } = await server.run(await server.project(repository.url, { deploy }));
    await server.logged(id, "deploying");
    await watch.all(1);
    const runner = server.runnerPid();
    const [guard] = childrenOf(runner, "runner-guard");
    if (guard === undefined) throw new Error("the runner has no guard process");
    process.kill(guard, "SIGKILL");
    await eventually("another guard is started", () =>
      childrenOf(runner, "runner-guard").some((pid) => pid !== guard),
    );
    process.kill(runner, "SIGSTOP");
    await server.reach(id, "lost");
    expect(watch.alive()).toEqual([]);
  });
});

test("a runner that hangs for less than that finishes its task", async () => {
  const build = "echo building; sleep 3; echo built";
  const { id } = await server.run(await server.project(repository.url, { build }));
  await server.logged(id, "building");
  process.kill(server.runnerPid(), "SIGSTOP");
  await Bun.sleep(leaseMs / 4); // So long it hangs.
  signalIfAlive(server.runnerPid(), "SIGCONT");
  const task = await server.reach(id, "success");
  expect(task.attempt).toBe(1);
});
