import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pino from "pino";
import { limitServiceLogs } from "../../src/runner/workspace/service-logs.ts";
import { eventually } from "../support/eventually.ts";
import { ordinary } from "../support/ordinary-user.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("the output file of a running service is emptied beyond its limit, and the service writes on", async () => {
  const root = temporaryFolder("service-log");
  const scripts = join(root, "work", "project-1", "task-7-1", "scripts");
  mkdirSync(scripts, { recursive: true });
  const file = join(scripts, "start.log");
  const outside = join(root, "outside.txt");
  writeFileSync(outside, "x".repeat(5000));
  const other = join(root, "work", "project-2", "task-8-1", "scripts");
  mkdirSync(other, { recursive: true });
  symlinkSync(outside, join(other, "start.log"));
  // Appended by the shell, as the runner opens the file for a service.
  const child = Bun.spawn(["sh", "-c", `while :; do echo "a line of output"; sleep 0.005; done >> ${file}`], {
    detached: true,
  });
  try {
    const size = () => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    await eventually("the service has written more than the limit", () => size() > 2000);
    const before = size();
    limitServiceLogs(root, 1_000_000, pino({ level: "silent" }));
    expect(size()).toBeGreaterThanOrEqual(before);
    limitServiceLogs(root, 1000, pino({ level: "silent" }));
    expect(size()).toBeLessThan(before);
    expect(readFileSync(file, "utf8")).toContain("[the output was larger than 1000 bytes and was removed]");
    const after = size();
    await eventually("the service writes at the new end", () => size() > after);
    expect(readFileSync(file).includes(0)).toBe(false);
    expect(statSync(outside).size).toBe(5000);
  } finally {
    process.kill(-child.pid, "SIGKILL");
  }
});

test("a folder that a script has made unreadable neither ends the runner nor spares the files of others", () => {
  const root = temporaryFolder("service-log");
  const large = ["project-1", "project-3"].map((project) => {
    const scripts = join(root, "work", project, "task-7-1", "scripts");
    mkdirSync(scripts, { recursive: true });
    writeFileSync(join(scripts, "start.log"), "x".repeat(5000));
    return join(scripts, "start.log");
  });
  const closed = ["project-2/task-1-1", "project-2/task-2-1/scripts", "project-4"].map((name) =>
    join(root, "work", name),
  );
  for (const folder of closed) mkdirSync(folder, { recursive: true });
  for (const folder of closed) chmodSync(folder, 0);
  try {
    const code = `
      import pino from "pino";
      import { limitServiceLogs } from "./src/runner/workspace/service-logs.ts";
      limitServiceLogs(${JSON.stringify(root)}, 1000, pino({ level: "silent" }));
    `;
    const cwd = join(import.meta.dir, "../..");
    const ended = Bun.spawnSync([...ordinary, process.execPath, "-e", code], { cwd });
    expect(ended.stderr.toString()).toBe("");
    for (const file of large) expect(statSync(file).size).toBeLessThan(1000);
  } finally {
    for (const folder of closed) chmodSync(folder, 0o700);
  }
});
