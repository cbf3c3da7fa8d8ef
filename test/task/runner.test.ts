import { afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { treeOf } from "../../src/runner/process/process-tree.ts";
import type { RunnerOptions } from "../../src/runner/run/runner.ts";
import { eventually } from "../support/eventually.ts";
import { type FakeServer, sampleInstruction, startFakeServer } from "../support/fake-server.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { isAlive, watchProcesses } from "../support/process-watch.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startTestRunner, type TestRunner } from "../support/test-runner.ts";

let repository: GitRepository;
let root: string;
let server: FakeServer;
let runner: TestRunner;

const startRunner = (more: Partial<RunnerOptions> = {}) => startTestRunner(server.url, root, more);

beforeAll(async () => {
  repository = await makeRepository();
  await repository.push({ "app.txt": "one\n" });
});
beforeEach(() => {
  root = temporaryFolder("runner");
  server = startFakeServer();
  runner = startRunner();
});
afterEach(async () => {
  runner.drain.abort();
  runner.abandon.abort();
  await runner.done;
  server.stop();
});

const finished = () => eventually("the task is finished", () => server.finished.length > 0);

describe("the execution side accepts only run_task", () => {
  test("anything else is refused and logged, and the next task runs", async () => {
    server.instructions.push(
      { type: "run_shell", command: "touch /tmp/never" },
      { type: "run_task", taskId: "no number" },
      "run_task",
      sampleInstruction(repository.url, { build: "echo built" }),
    );
    await finished();
    expect(server.finished).toMatchObject([{ taskId: 1, state: "success" }]);
    const refusals = runner.logLines.filter((line) => line.includes("refused an instruction"));
    expect(refusals).toHaveLength(3);
    expect(refusals[0]).toContain("run_shell");
  });

  test("a clone URL, ref or commit that the server should not have sent is refused too", async () => {
    const good = sampleInstruction(repository.url, { build: "echo built" });
    const wrong = [
      { repo: { ...good.repo, allowLocal: false } },
      { repo: { ...good.repo, url: "ext::sh -c touch% /tmp/never" } },
      { ref: "--upload-pack=touch /tmp/never" },
      { commit: "--all" },
    ];
    for (const [index, more] of wrong.entries()) {
      server.instructions.push({ ...good, ...more, taskId: index + 1 });
      await eventually("it is refused", () => server.finished.length === index + 1);
      expect(server.finished.at(-1)).toMatchObject({ state: "failed" });
    }
    expect(server.stages.filter((stage) => stage.startsWith("build"))).toEqual([]);
  });
});

describe("a stage begins only after the server acknowledged it", () => {
  test("and not at all when the response says stop", async () => {
    server.answer = { continue: false, why: "canceled" };
    server.instructions.push(sampleInstruction(repository.url, { build: "echo built" }));
    await finished();
    expect(server.stages).toEqual(["checkout running"]);
    expect(server.finished).toMatchObject([{ state: "canceled" }]);
  });

  test("also if the acknowledgement takes long", async () => {
    let refusals = 0;
    server.disturb = (path) => (path === "stage" && refusals++ < 3 ? 503 : null);
    server.instructions.push(sampleInstruction(repository.url, { build: "echo built" }));
    await finished();
    expect(server.finished).toMatchObject([{ state: "success" }]);
  });
});

describe("a task that takes too long", () => {
  test("is a timeout also when its checkout does", async () => {
    const instruction = sampleInstruction(repository.url, { build: "echo built" });
    const limits = { ...instruction.limits, checkoutTimeoutMs: 1 };
    server.instructions.push({ ...instruction, limits });
    await finished();
    expect(server.stages).toEqual(["checkout running", "checkout timeout"]);
    expect(server.finished).toMatchObject([
      { state: "timeout", reason: "git did not finish within 0.001 s" },
    ]);
  });

  test("is a timeout also when the server says so during a health check", async () => {
    const instruction = sampleInstruction(repository.url, { start: "echo started" });
    const check = { http: "", tcp: "127.0.0.1:1", command: "", expect: "", within: 60 };
    const stages = instruction.stages.map(({ name, steps }) => ({
      name,
      steps: steps.map((step) => ({ ...step, check })),
    }));
    server.instructions.push({ ...instruction, stages });
    await eventually("the check begins", () => server.lines.some(({ text }) => text.startsWith("[waiting")));
    server.answer = { continue: false, why: "timeout" };
    await finished();
    expect(server.stages.at(-1)).toBe("start timeout");
    expect(server.finished).toMatchObject([{ state: "timeout", reason: "start ran longer than allowed" }]);
  });
});

describe("the log", () => {
  test("has neither gap nor duplicate when calls and responses get lost", async () => {
    let calls = 0;
    server.disturb = (path) => {
      if (path !== "log") return null;
      calls += 1;
      return calls % 3 === 0 ? 500 : calls % 3 === 1 ? "forget" : null;
    };
    server.instructions.push(
      sampleInstruction(repository.url, {
        build: "for i in 1 2 3 4 5; do seq $i$i 1 $i$i$i; sleep 0.05; done",
      }),
    );
    await finished();
    const expected = [1, 2, 3, 4, 5].flatMap((i) => {
      const [from, to] = [Number(`${i}${i}`), Number(`${i}${i}${i}`)];
      return Array.from({ length: to - from + 1 }, (_, index) => String(from + index));
    });
    expect(server.lines.filter(({ stage }) => stage === "build").map(({ text }) => text)).toEqual(expected);
  });
});

describe("a runner that cannot renew its lease", () => {
  test("ends its processes before the server decides, and reports nothing", async () => {
    const watch = watchProcesses();
    const leaseMs = 10_000;
    const build = `trap '' TERM; setsid sh -c 'echo $$ >>${watch.file}; exec sleep 300' & echo $$ >>${watch.file}; sleep 300`;
    const instruction = sampleInstruction(repository.url, { build }, {}, leaseMs);
    // The server decides at the end of the lease, regardless of the grace period.
    server.instructions.push({ ...instruction, limits: { ...instruction.limits, stopGraceMs: 600_000 } });
    await watch.all(2);
    const renewedAt = performance.now();
    server.disturb = () => 503;
    await eventually("nothing of the task is alive", () => watch.alive().length === 0);
    expect(performance.now() - renewedAt).toBeLessThan(leaseMs);
    await eventually("the task is given up", () =>
      runner.logLines.some((line) => line.includes("task ended")),
    );
    server.disturb = () => null;
    const claimsBefore = server.claims;
    await eventually("it asks for work again", () => server.claims > claimsBefore);
    expect(server.finished).toEqual([]);
  });

  test("has less time to end its processes also when they are already being ended", async () => {
    const watch = watchProcesses();
    const build = `trap '' TERM; echo $$ >>${watch.file}; while :; do sleep 1; done`;
    const instruction = sampleInstruction(repository.url, { build }, {}, 6000);
    server.instructions.push({ ...instruction, limits: { ...instruction.limits, stopGraceMs: 600_000 } });
    await watch.all(1);
    const beats = server.beats;
    server.answer = { continue: false, why: "canceled" };
    await eventually("the runner has heard of the cancel", () => server.beats > beats + 1);
    server.disturb = () => 503;
    await eventually("nothing of the task is alive", () => watch.alive().length === 0);
  });

  test("keeps a result until the server is back", async () => {
    server.disturb = (path) => (path === "finish" ? 503 : null);
    // Long enough that a busy machine can renew it, short enough to wait for its end.
    const leaseMs = 6000;
    server.instructions.push(sampleInstruction(repository.url, { build: "echo built" }, {}, leaseMs));
    await eventually("the stage is done", () => server.stages.includes("build success"));
    const doneAt = Date.now();
    await eventually("the lease would be over", () => Date.now() > doneAt + leaseMs);
    server.disturb = () => null;
    await finished();
    expect(server.finished).toMatchObject([{ state: "success" }]);
  });
});

describe("a runner renews its lease", () => {
  test("of an hour, too", async () => {
    const build = "until [ -f done ]; do sleep 0.05; done";
    server.instructions.push(sampleInstruction(repository.url, { build }, {}, 3_600_000));
    await eventually("the build runs", () => server.stages.includes("build running"));
    await eventually("it beats", () => server.beats > 0);
    writeFileSync(join(root, "releases/1/1/source/done"), "");
    await finished();
    expect(server.finished).toMatchObject([{ state: "success" }]);
  });

  test("until the server has its result", async () => {
    server.disturb = (path) => (path === "finish" ? 503 : null);
    server.instructions.push(sampleInstruction(repository.url, { build: "echo built" }));
    await eventually("the workspace is kept", () => {
      const record = join(root, "releases/1/1/state.json");
      return existsSync(record) && readFileSync(record, "utf8").includes('"state":"kept"');
    });
    const beats = server.beats;
    await eventually("it beats on", () => server.beats > beats + 1);
    server.disturb = () => null;
    await finished();
    expect(server.finished).toMatchObject([{ state: "success" }]);
  });
});

describe("a runner that gets SIGTERM", () => {
  test("finishes its tasks and claims no more", async () => {
    server.instructions.push(
      sampleInstruction(repository.url, { build: "echo begun; sleep 0.5; echo done" }),
    );
    await eventually("the task has begun", () => server.lines.some(({ text }) => text === "begun"));
    runner.drain.abort();
    server.instructions.push(sampleInstruction(repository.url, { build: "echo never" }, { taskId: 2 }));
    await runner.done;
    expect(server.finished).toMatchObject([{ taskId: 1, state: "success" }]);
    // A claim may have been in flight; its task is not started.
    expect(server.lines.some(({ text }) => text === "never")).toBe(false);
  });

  test("finishes an attempt also if an earlier attempt of the same task ends first", async () => {
    const waitFor = (name: string) => ({ build: `until [ -f ${join(root, name)} ]; do sleep 0.05; done` });
    for (const attempt of [1, 2]) {
      server.instructions.push(sampleInstruction(repository.url, waitFor(`end-${attempt}`), { attempt }));
      const begun = () => server.stages.filter((stage) => stage === "build running").length;
      await eventually(`attempt ${attempt} runs`, () => begun() === attempt);
    }
    writeFileSync(join(root, "end-1"), "");
    await eventually("the first one has ended", () =>
      runner.logLines.some((line) => line.includes("task ended")),
    );
    runner.drain.abort();
    setTimeout(() => writeFileSync(join(root, "end-2"), ""), 500);
    await runner.done;
    expect(server.finished).toMatchObject([{ attempt: 1 }, { attempt: 2, state: "success" }]);
  });

  test("twice: ends its processes at once and leaves the task to the server", async () => {
    const watch = watchProcesses();
    server.instructions.push(
      sampleInstruction(repository.url, { build: `echo $$ >>${watch.file}; sleep 300` }),
    );
    await watch.all(1);
    runner.abandon.abort();
    await runner.done;
    expect(watch.alive()).toEqual([]);
    expect(server.finished).toEqual([]);
  });
});

describe("a runner whose server does not return", () => {
  test("stops after a while when it has no task", async () => {
    runner.drain.abort();
    await runner.done;
    server.disturb = () => 503;
    runner = startRunner({ endsAloneAfterMs: 300 });
    await runner.done;
    expect(runner.logLines.some((line) => line.includes("no server has answered for long"))).toBe(true);
  });
});

describe("cached clones", () => {
  test("that no task used for ninety days are deleted at the next start", async () => {
    runner.drain.abort();
    await runner.done;
    const longAgo = new Date(Date.now() - 91 * 24 * 3_600_000);
    for (const name of ["project-5.git", "project-6.git"])
      mkdirSync(join(root, "cache", name, "objects"), { recursive: true });
    utimesSync(join(root, "cache/project-6.git"), longAgo, longAgo);
    runner = startRunner();
    await eventually("it goes", () => readdirSync(join(root, "cache")).length === 1);
    expect(readdirSync(join(root, "cache"))).toEqual(["project-5.git"]);
  });
});

describe("leftovers of a runner that was killed with its guard", () => {
  test("in the place of a workspace do not stop the runner", async () => {
    runner.drain.abort();
    await runner.done;
    writeFileSync(join(root, "releases/notes.txt"), "of somebody");
    writeFileSync(join(root, "releases/1"), "no folder");
    mkdirSync(join(root, "releases/7"));
    writeFileSync(join(root, "releases/7/core"), "of a program that broke");
    runner = startRunner();
    server.instructions.push(sampleInstruction(repository.url, { build: "echo built" }, { projectId: 2 }));
    await finished();
    expect(server.finished).toMatchObject([{ state: "success" }]);
  });

  test("are ended and removed at the next start; a kept workspace stays", async () => {
    runner.drain.abort();
    await runner.done;
    const orphan = Bun.spawn(["sleep", "300"], { detached: true });
    const dead = { pid: 1, startedAt: "never" };
    const folder = (name: string, record: object) => {
      mkdirSync(join(root, "releases/7", name), { recursive: true });
      writeFileSync(join(root, "releases/7", name, "state.json"), JSON.stringify(record));
    };
    const trees = [treeOf(orphan.pid)];
    folder("7", { state: "building", owner: dead, trees });
    folder("6", { state: "kept", owner: dead, trees: [] });
    runner = startRunner();
    await eventually("the orphan is ended", () => !isAlive(orphan.pid));
    await eventually("its folder is removed", () => readdirSync(join(root, "releases/7")).length === 1);
    expect(readdirSync(join(root, "releases/7"))).toEqual(["6"]);
  });
});
