import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openGroupLimits, setGroupLimits } from "../../src/runner/process/control-group.ts";
import { splitLimits } from "../../src/runner/stage/resources.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const resources = { memoryBytes: 64 * 1024 ** 2, cpus: 1.5, processes: 30, nice: 5 };

test("a group of a unit gets a leaf for its processes, and the controllers that the kernel accepts", () => {
  const unit = join(temporaryFolder("groups"), "slipway-runner.service");
  mkdirSync(unit);
  writeFileSync(join(unit, "cgroup.procs"), "41\n42\n");
  writeFileSync(join(unit, "cgroup.subtree_control"), "");
  // A file keeps only the last write; the kernel would collect them.
  expect(openGroupLimits(unit)).toEqual([]);
  expect(readFileSync(join(unit, "slipway-self/cgroup.procs"), "utf8")).toBe("42");
  expect(readFileSync(join(unit, "cgroup.subtree_control"), "utf8")).toBe("+cpu");
});

test("a group that is not a unit's is left alone", () => {
  const session = join(temporaryFolder("groups"), "session-1.scope");
  mkdirSync(session);
  writeFileSync(join(session, "cgroup.procs"), "41\n");
  expect(openGroupLimits(session)).toEqual([]);
  expect(() => readFileSync(join(session, "slipway-self/cgroup.procs"))).toThrow();
});

test("limits go to the group as far as it has controllers, and to ulimit otherwise", () => {
  expect(splitLimits(resources, [])).toEqual({ group: null, rest: resources });
  expect(splitLimits(resources, ["memory", "pids", "cpu"])).toEqual({
    group: { memoryBytes: resources.memoryBytes, cpus: 1.5, processes: 30 },
    rest: { memoryBytes: null, cpus: 1.5, processes: null, nice: 5 },
  });
  const folder = temporaryFolder("limits");
  setGroupLimits(folder, { memoryBytes: 1024, cpus: 1.5, processes: null });
  const written = (name: string) => readFileSync(join(folder, name), "utf8");
  expect(written("memory.max")).toBe("1024");
  expect(written("memory.swap.max")).toBe("0");
  expect(written("cpu.max")).toBe("150000 100000");
  expect(() => written("pids.max")).toThrow();
});
