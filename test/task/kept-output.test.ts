import { afterEach, describe, expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manualClock } from "../../src/clock.ts";
import { buildMasker } from "../../src/runner/log/masker.ts";
import { readOutput } from "../../src/runner/service/read-output.ts";
import { openOutput } from "../../src/runner/service/service-output.ts";
import { type FileCalls, openFileCalls } from "../../src/system/file-calls.ts";
import { eventually } from "../support/eventually.ts";
import { openServiceScene, type ServiceScene } from "../support/keeper-scene.ts";

const calls = await openFileCalls();
const never = new AbortController().signal;
const command = (text: string) => ({ http: "", tcp: "", command: text, expect: "", within: 20 });

/** The output of an instance in a folder, written by the test. */
function newOutput({
  maxBytes = 100_000_000,
  maxAgeMs = 1e12,
  with: own = calls as FileCalls,
  secrets = [""],
} = {}) {
  const folder = mkdtempSync(join(tmpdir(), "slipway-output-"));
  const clock = manualClock();
  writeFileSync(join(folder, "output"), "");
  const open = () => openOutput(folder, { calls: own, clock, bounds: { maxBytes, maxAgeMs } });
  const output = open();
  const part = { output, masker: buildMasker(secrets), isGrowing: true };
  const read = (more = {}) =>
    readOutput(
      [part],
      {
        ...{ id: "1", projectId: 1, name: "web", position: null, direction: "forward" as const },
        ...{ maxLines: 2000, search: "", waitMs: 0, ...more },
      },
      never,
    );
  const texts = async (more = {}) => (await read(more)).lines.map(({ text }) => text);
  const file = join(folder, "output");
  return {
    folder,
    file,
    clock,
    output,
    open,
    part,
    read,
    texts,
    append: (text: string) => appendFileSync(file, text),
  };
}

describe("reading output", () => {
  test("forward and backward in parts give every line once, in order", async () => {
    const { append, read } = newOutput();
    const all = Array.from({ length: 5000 }, (_, index) => `line ${index} ${"x".repeat(index % 90)}`);
    append(`${all.join("\n")}\nunfinished`);
    const forward: string[] = [];
    for (let position: number | null = null; ; ) {
      const { lines, next, to } = await read({ position, maxLines: 313 });
      forward.push(...lines.map(({ text }) => text));
      position = next;
      if (lines.length === 0) {
        expect(next).toBe(to - "unfinished".length);
        break;
      }
    }
    expect(forward).toEqual(all);
    const backward: string[] = [];
    for (let position: number | null = null; ; ) {
      const { lines, next } = await read({ position, maxLines: 313, direction: "backward" });
      if (lines.length === 0) break;
      backward.unshift(...lines.map(({ text }) => text));
      position = next;
    }
    expect(backward).toEqual(all);
  });

  test("empty lines, line ends of Windows, and lines across chunks", async () => {
    const { append, texts } = newOutput();
    const long = "é".repeat(50_000);
    append(`\n\na\r\n${long}\n\nend\n`);
    const expected = ["", "", "a", `${long.slice(0, 16_000)} [line cut: it has 100000 bytes]`, "", "end"];
    expect(await texts()).toEqual(expected);
    expect(await texts({ direction: "backward" })).toEqual(expected);
  });

  test("a secret is masked wherever a reader begins", async () => {
    const secret = "s3cret-value";
    const { append, read, texts } = newOutput({ secrets: [secret, "first line of key\nsecond line of key"] });
    append(`before ${secret} after\nfirst line of key\nsecond line of key\n${"x".repeat(15_995)}${secret}\n`);
    const { to } = await read();
    for (let position = 0; position < 80; position += 1)
      for (const direction of ["forward", "backward"]) {
        const found = (await texts({ position, direction })).join("\n");
        for (let at = 0; at + 6 <= secret.length; at += 1)
          expect(found).not.toContain(secret.slice(at, at + 6));
        expect(found).not.toContain("of key");
      }
    expect(await texts({ search: "s3cret" })).toEqual([]);
    expect(await texts({ search: "BEFORE" })).toEqual(["before *** after"]);
    expect((await texts({ position: to, direction: "backward", maxLines: 1 }))[0]).not.toContain("s3cr");
  });

  test("waits for new output, and gives it", async () => {
    const { append, read } = newOutput();
    append("one\n");
    const { next } = await read();
    const waiting = read({ position: next, waitMs: 20_000 });
    await Bun.sleep(300); // It waits by then; nothing shows that it does.
    append("two\n");
    expect((await waiting).lines.map(({ text }) => text)).toEqual(["two"]);
    expect((await read({ position: 1_000_000 })).lines).toEqual([]);
  });

  test("a search in much output ends after a part, and goes on", async () => {
    const { append, read } = newOutput();
    for (let part = 0; part < 20; part += 1)
      append(`${"filler of some length\n".repeat(50_000)}needle ${part}\n`);
    const found: string[] = [];
    let position: number | null = null;
    let calls = 0;
    for (let last = -1; position !== last; calls += 1) {
      last = position ?? -1;
      const answer = await read({ position, search: "needle" });
      found.push(...answer.lines.map(({ text }) => text));
      position = answer.next;
    }
    expect(found).toHaveLength(20);
    expect(calls).toBeGreaterThan(2);
  });
});

describe("bounds of output", () => {
  test("the oldest part is freed; positions stay, and begin at a whole line", async () => {
    const { append, output, file, read } = newOutput({ maxBytes: 1_000_000 });
    for (let line = 0; line < 60_000; line += 1000) {
      append(Array.from({ length: 1000 }, (_, index) => `line ${line + index} ${"x".repeat(40)}\n`).join(""));
      output.look();
    }
    expect(statSync(file).blocks * 512).toBeLessThan(1_200_000);
    const { lines, from, to } = await read({ direction: "backward", maxLines: 1 });
    expect(lines[0]?.text).toStartWith("line 59999");
    expect(to).toBe(statSync(file).size);
    expect(from).toBeGreaterThan(1_000_000);
    const [first] = (await read({ maxLines: 1 })).lines;
    expect(first?.text).toMatch(/^line \d+ x{40}$/);
    expect(output.to() - output.from()).toBeGreaterThan(700_000);
  });

  test("a file system that cannot free a part: the file is emptied, with a mark, and positions go on", async () => {
    const { append, output, file, read } = newOutput({
      maxBytes: 100_000,
      with: { ...calls, freeBeginning: () => false },
    });
    append("x".repeat(199_999).concat("\n"));
    const before = 200_000;
    output.look();
    expect(statSync(file).size).toBe(0);
    append("next\n");
    const { lines, marks, from } = await read();
    expect(lines).toEqual([{ position: before, text: "next" }]);
    expect(from).toBe(before);
    expect(marks).toMatchObject([{ position: before, kind: "cut" }]);
  });

  test("a file that became shorter starts a new base, with a mark, for a later runner too", async () => {
    const { append, output, open, file, read } = newOutput();
    append("one\ntwo\n");
    output.look();
    output.mark("start", 1);
    truncateSync(file, 0);
    append("new\n");
    const { lines, marks } = await read();
    expect(lines).toEqual([{ position: 8, text: "new" }]);
    expect(marks.map(({ kind, position }) => [kind, position])).toEqual([
      ["start", 8],
      ["cut", 8],
    ]);
    expect(open().base()).toBe(8);
  });

  test("what is older than its bound is freed", () => {
    const { append, output, clock } = newOutput({ maxAgeMs: 10 * 3_600_000 });
    append("x".repeat(50_000));
    output.look();
    for (let hour = 0; hour < 12; hour += 1) {
      clock.advance(3_600_001);
      append("y".repeat(5000));
      output.look();
    }
    expect(output.from()).toBeGreaterThan(45_000);
    expect(output.from()).toBeLessThan(60_000);
  });
});

describe("the output of a service", () => {
  let scene: ServiceScene;
  afterEach(() => scene.stop());

  test("of several releases, with marks; one that fails leaves none", async () => {
    scene = await openServiceScene("none");
    const service = (text: string, more = {}) =>
      scene.service("web", `echo "${text} $TOKEN"; exec sleep 100`, {
        port: "$PORT",
        check: command("true"),
        ...more,
      });
    const read = () => scene.read();
    await scene.deploy(scene.release([service("one")]));
    await eventually("its line", async () => (await read()).lines.length === 1);
    await scene.deploy(scene.release([service("two")]));
    await eventually("both lines", async () => (await read()).lines.length === 2);
    await scene.deploy(scene.release([service("three", { check: { ...command("false"), within: 1 } })]));
    const { lines, marks, to } = await read();
    expect(lines.map(({ text }) => text)).toEqual(["one ***", "two ***"]);
    const releases = marks.filter(({ kind }) => kind === "release");
    expect(releases.map(({ taskId }) => taskId)).toEqual([1, 2]);
    expect(lines[1]?.position).toBe(releases[1]?.position ?? -1);
    expect((await scene.read({ direction: "backward", maxLines: 1 })).lines[0]?.text).toBe("two ***");
    expect((await scene.read({ position: to + 5_000_000_000 })).lines).toEqual([]);
    expect((await scene.read({ name: "nobody" })).fault).toContain("no service nobody");
  });

  test("a service that opens /dev/stdout by its name, and empties it", async () => {
    scene = await openServiceScene("none");
    const text = `echo ${"first ".repeat(20)}; sleep 2; echo anew >/dev/stdout; echo more; sleep 100`;
    await scene.deploy(scene.release([scene.service("web", text, { check: command("true") })]));
    await eventually("it was emptied", async () =>
      (await scene.read()).lines.some(({ text: line }) => line === "more"),
    );
    const { lines, marks } = await scene.read();
    expect(lines.map(({ text: line }) => line)).toEqual(["anew", "more"]);
    expect(marks.some(({ kind }) => kind === "cut")).toBe(true);
  });

  test("100 MB: bounded on disk, without memory of the runner", async () => {
    scene = await openServiceScene("none", { output: { maxBytes: 8_000_000, maxAgeMs: 1e12 } });
    const text = `yes "$(head -c 200 /dev/zero | tr '\\0' x) $TOKEN" | head -c 100000000; echo; echo done; sleep 100`;
    await scene.deploy(scene.release([scene.service("web", text, { check: command("true") })]));
    Bun.gc(true);
    const before = process.memoryUsage().rss;
    const file = join(scene.instance(), "output");
    await eventually("all was printed", () => statSync(file).size > 100_000_000 - 1000);
    await eventually("it is bounded", () => statSync(file).blocks * 512 < 9_000_000, 30_000);
    const { lines } = await scene.read({ direction: "backward", maxLines: 500 });
    expect(lines.at(-1)?.text).toBe("done");
    expect(lines[0]?.text).toEndWith("x ***");
    Bun.gc(true);
    expect(process.memoryUsage().rss - before).toBeLessThan(20_000_000);
    expect(readFileSync(join(scene.instance(), "settings"), "utf8")).toContain("bound=15625");
  });

  test("without a runner the keeper itself empties a file of twice its bound", async () => {
    scene = await openServiceScene("none", { output: { maxBytes: 500_000, maxAgeMs: 1e12 } });
    const text = "sleep 3; yes | head -c 3000000; sleep 200";
    await scene.deploy(scene.release([scene.service("web", text, { check: command("true") })]));
    scene.services().close();
    const file = join(scene.instance(), "output");
    await eventually("all was printed", () => statSync(file).size === 3_000_000);
    await eventually("it was emptied", () => statSync(file).size === 0, 90_000);
  }, 120_000);
});
