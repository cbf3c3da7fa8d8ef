import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { holdersOfFile, processesOf, readProcessTable } from "../../src/runner/keeper/process-table.ts";
import { eventually } from "../support/eventually.ts";
import {
  openServiceScene,
  type ServiceKind,
  type ServiceScene,
  stubborn,
  witnessCheck,
} from "../support/keeper-scene.ts";
import { pick } from "../support/length.ts";
import { isAlive } from "../support/process-watch.ts";
import { serviceUrl } from "../support/services.ts";

const podman = await serviceUrl("podman");
const hasSandbox = Boolean(await serviceUrl("bwrap"));
const kinds: { kind: ServiceKind; isHere: boolean }[] = [
  { kind: "sandbox", isHere: hasSandbox },
  { kind: "none", isHere: true },
  { kind: "container", isHere: Boolean(podman) },
];

let scene: ServiceScene;
afterEach(() => scene?.stop());

const open = async (kind: ServiceKind) => {
  scene = await openServiceScene(kind, { podman: podman ?? "" });
  return scene;
};

/** The keeper of a service: it holds the lock. */
const keeperOf = () => holdersOfFile(3, join(scene.instance(), "lock"))[0] ?? 0;
const starts = () => scene.linesOf("starts").length;
const noViolation = () => expect(scene.violations()).toEqual([]);
/** It may have ended meanwhile. */
const kill = (pid: number, signal = "KILL") =>
  void Bun.spawnSync(["kill", `-${signal}`, String(pid)], { stderr: "ignore" });

async function start(command = scene.witness, more = {}): Promise<void> {
  const end = await scene.deploy(
    scene.release([scene.service("web", command, { check: witnessCheck, ...more })]),
  );
  expect({ ...end, events: scene.events }).toMatchObject({ state: "success" });
}

for (const { kind, isHere } of kinds)
  describe.skipIf(!isHere)(`the keeper of a service (${kind})`, () => {
    test("starts it again within 2 s after kill -9, and reports the exit", async () => {
      await open(kind);
      await start();
      const [pid = 0] = scene.copies();
      const at = performance.now();
      process.kill(pid, "SIGKILL");
      await eventually("it runs again", () => starts() === 2);
      expect(performance.now() - at).toBeLessThan(kind === "container" ? 5000 : 2000);
      await scene.serves();
      expect(scene.report()).toMatchObject({ restarts: 1, lastExit: "SIGKILL" });
      expect(scene.report()?.lastLines).toStartWith("started");
      expect(scene.report()?.exits).toHaveLength(1);
      noViolation();
    });

    test("passes SIGTERM on once, and waits for the service", async () => {
      await open(kind);
      await start();
      await scene.services().act(7, "stop", ["web"], scene.progress, new AbortController().signal);
      expect(scene.linesOf("terms")).toEqual(["term"]);
      expect(scene.copies()).toEqual([]);
      expect(scene.state()).toBe("stopped");
      expect(keeperOf()).toBe(0);
    });

    test("ends a service that ignores SIGTERM after its grace", async () => {
      await open(kind);
      await start(stubborn(scene.witness));
      const at = performance.now();
      await scene.services().act(7, "stop", ["web"], scene.progress, new AbortController().signal);
      expect(performance.now() - at).toBeGreaterThan(1900);
      expect(scene.linesOf("terms")).toEqual(["term"]);
      expect(scene.copies()).toEqual([]);
    });

    test("killed with -9: the service ends before the next copy starts", async () => {
      await open(kind);
      await start();
      const keeper = keeperOf();
      process.kill(keeper, "SIGKILL");
      await eventually("another copy runs", () => starts() === 2);
      await scene.serves();
      expect(keeperOf()).not.toBe(keeper);
      noViolation();
    });

    test("lives on without its runner; the next one adopts it", async () => {
      await open(kind);
      await start();
      const keeper = keeperOf();
      const since = scene.report()?.since;
      scene.services().close();
      await scene.reopen();
      expect(scene.state()).toBe("serving");
      expect(scene.report()?.since).toBe(since ?? "");
      expect(keeperOf()).toBe(keeper);
      expect(starts()).toBe(1);
    });

    test("everything was killed, as by a restart of the machine: the next runner starts the service", async () => {
      await open(kind);
      await start();
      scene.services().close();
      const state = join(scene.instance(), "state");
      const keeper = keeperOf();
      for (const pid of [keeper, ...scene.copies()]) kill(pid);
      await eventually("all are dead", () => scene.copies().length === 0);
      // The numbers of another boot mean other processes: this one would be the test itself.
      const other = readFileSync(state, "utf8")
        .replace(/^boot .*$/m, "boot 00000000-0000-0000-0000-000000000000")
        .replace(/^child .*$/m, `child ${process.pid} 1`);
      writeFileSync(state, other);
      await scene.reopen();
      await eventually("it runs again", () => starts() === 2);
      await scene.serves();
      noViolation();
    });

    test("gives it its own variables, and neither those of the runner nor a lock", async () => {
      await open(kind);
      await start();
      const env = scene.linesOf("env");
      expect(env).toContain("TOKEN=s3cret-value");
      expect(env).toContain("CI_STEP=web");
      expect(env.filter((line) => /LEAKED|SLIPWAY|OLDPWD/.test(line))).toEqual([]);
      const descriptors = scene.linesOf("descriptors").join("\n");
      expect(descriptors).toContain("/lock");
      expect(descriptors).not.toContain(`${scene.instance()}/lock`);
      expect(descriptors).not.toContain("/copy");
      const keeper = readFileSync(`/proc/${keeperOf()}/environ`, "utf8");
      expect(keeper).not.toContain("LEAKED");
      expect(keeper).not.toContain("s3cret-value");
    });

    test("a crash loop: the last five exits, and a pause that grows", async () => {
      await open(kind);
      await start(`${scene.witness.replace(/while.*$/s, "")}sleep 2; echo crashed; exit 3`);
      await eventually("it ended often", () => (scene.report()?.exits.length ?? 0) >= 4);
      const exits = (scene.report()?.exits ?? []).map((at) => Date.parse(at));
      const [first = 0, second = 0, third = 0, fourth = 0] = exits;
      // The first pause is 1 s, the third 4 s. A container takes its time to start.
      expect(fourth - third).toBeGreaterThan(second - first + 1000);
      expect(scene.report()?.lastLines).toContain("crashed");
      expect(scene.report()).toMatchObject({ lastExit: "3" });
      noViolation();
    });

    test("a SIGTERM at any moment of its start leaves nothing running", async () => {
      await open(kind);
      const signal = new AbortController().signal;
      await start();
      for (let round = 0; round < (kind === "container" ? pick(2, 5) : pick(8, 25)); round += 1) {
        const stop = new AbortController();
        const restarted = scene.services().act(7, "restart", ["web"], scene.progress, stop.signal);
        await Bun.sleep(20 + Math.random() * (kind === "container" ? 1500 : 200)); // Any moment of the start.
        for (const pid of holdersOfFile(3, join(scene.instance(), "lock"))) kill(pid, "TERM");
        stop.abort();
        await restarted;
        await scene.services().act(7, "stop", ["web"], scene.progress, signal);
        expect(keeperOf()).toBe(0);
        expect(scene.copies()).toEqual([]);
      }
      noViolation();
    });

    test("keeper and service killed at any moment: never two copies, and it serves again", async () => {
      await open(kind);
      await start();
      for (let round = 0; round < (kind === "container" ? pick(2, 3) : pick(5, 10)); round += 1) {
        await Bun.sleep(Math.random() * 1500); // Any moment.
        const victims = [keeperOf(), ...scene.copies()].filter((pid) => pid > 0 && Math.random() < 0.6);
        for (const pid of victims) kill(pid);
      }
      await eventually("it serves", () => scene.state() === "serving" && scene.copies().length > 0);
      noViolation();
    });

    test("ends with its service if its folder was deleted", async () => {
      await open(kind);
      await start();
      const keeper = keeperOf();
      const copies = scene.copies();
      rmSync(scene.instance(), { recursive: true });
      for (const pid of copies) kill(pid);
      await eventually("the keeper has ended", () => !isAlive(keeper));
    });

    test("restart: on-failure and never", async () => {
      await open(kind);
      const ends = (code: number) => `sleep 7; exit ${code}`;
      const end = await scene.deploy(
        scene.release([
          scene.service("clean", ends(0), { restart: "on-failure" }),
          scene.service("broken", ends(4), { restart: "on-failure" }),
          scene.service("once", ends(4), { restart: "never" }),
        ]),
      );
      expect(end.state).toBe("success");
      await eventually("one ended", () => scene.state("clean") === "down" && scene.state("once") === "down");
      await eventually("one starts again", () => (scene.report("broken")?.restarts ?? 0) > 0);
      expect(scene.report("once")).toMatchObject({ lastExit: "4", restarts: 0 });
    });
  });

describe("the cost and the shell of a keeper", () => {
  test.each(kinds.filter(({ kind, isHere }) => isHere && kind !== "container").map(({ kind }) => kind))(
    "at most 1 MB of private memory beside the service (%s)",
    async (kind) => {
      await open(kind);
      await start();
      const own = [...processesOf(keeperOf(), readProcessTable())];
      const ofService = new Set(scene.copies().flatMap((pid) => [...processesOf(pid, readProcessTable())]));
      const kilobytes = own
        .filter((pid) => !ofService.has(pid))
        .map((pid) => readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))
        .flatMap((text) => [...text.matchAll(/^Private_\w+:\s+(\d+)/gm)].map(([, value]) => Number(value)))
        .reduce((sum, each) => sum + each, 0);
      expect(kilobytes).toBeGreaterThan(100);
      expect(kilobytes).toBeLessThan(1024);
    },
  );

  test("a keeper that was killed before it wrote its state down, and its copy's first process: what is left of the copy ends first", async () => {
    await open("none");
    await start(scene.witness.replace("sleep 1 ", "sleep 60 "));
    await scene.services().act(7, "stop", ["web"], scene.progress, new AbortController().signal);
    // From now on the keeper cannot write its state.
    mkdirSync(join(scene.instance(), "state.new"));
    void scene.services().act(7, "start", ["web"], scene.progress, new AbortController().signal);
    await eventually("the copy and its child run", () => starts() === 2 && scene.copies().length === 2);
    for (const pid of [
      keeperOf(),
      ...holdersOfFile(4, join(scene.instance(), "copy")),
      scene.copies()[0] ?? 0,
    ])
      kill(pid);
    rmSync(join(scene.instance(), "state.new"), { recursive: true });
    await eventually("it runs again", () => starts() === 3);
    await scene.serves();
    noViolation();
  });

  test.skipIf(Bun.which("busybox") === null)("with the shell and the programs of busybox", async () => {
    await open("none");
    const bin = scene.folder("busybox");
    for (const name of ["sh", "sleep", "mv", "du", "cat", "setsid"])
      symlinkSync(Bun.which("busybox") ?? "", join(bin, name));
    scene.options.env = { ...scene.options.env, PATH: `${bin}:${process.env.PATH}` };
    await scene.reopen();
    await start();
    expect(readlinkSync(`/proc/${keeperOf()}/exe`)).toContain("busybox");
    process.kill(scene.copies()[0] ?? 0, "SIGKILL");
    await eventually("it runs again", () => starts() === 2);
    await scene.serves();
    await scene.services().act(7, "stop", ["web"], scene.progress, new AbortController().signal);
    expect(scene.linesOf("terms")).toEqual(["term"]);
    expect(scene.copies()).toEqual([]);
    noViolation();
  });
});
