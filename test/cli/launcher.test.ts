import { beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../support/temporary-folder.ts";

const repository = join(import.meta.dir, "../..");
const node = Bun.which("node") ?? "";
let root = "";

/** An installation whose packages are links, and a `node` that leaves a mark when it is started. */
beforeEach(() => {
  root = temporaryFolder("launcher");
  for (const entry of ["bin", "scripts", "package.json", "package-lock.json", "bunfig.toml", "tsconfig.json"])
    cpSync(join(repository, entry), join(root, entry), { recursive: true });
  rmSync(join(root, "scripts/build-program.ts"));
  symlinkSync(join(repository, "src"), join(root, "src"));
  mkdirSync(join(root, "node_modules"));
  for (const entry of readdirSync(join(repository, "node_modules")))
    if (entry !== ".slipway-lock.json" && entry !== ".package-lock.json")
      symlinkSync(join(repository, "node_modules", entry), join(root, "node_modules", entry));
  cpSync(join(repository, "node_modules/.package-lock.json"), join(root, "node_modules/.package-lock.json"));
  mkdirSync(join(root, "path"));
  writeFileSync(join(root, "path/node"), `#!/bin/sh\ntouch "${root}/node-started"\nexec "${node}" "$@"\n`);
  chmodSync(join(root, "path/node"), 0o755);
});

/** Prints the version through bin/slipway; answers whether Node was started for it. */
async function startsNode(): Promise<boolean> {
  rmSync(join(root, "node-started"), { force: true });
  const child = Bun.spawn([join(root, "bin/slipway"), "version"], {
    env: { ...process.env, PATH: `${root}/path:${process.env.PATH}` },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, problems] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect({ problems, exitCode: await child.exited }).toEqual({ problems: "", exitCode: 0 });
  expect(output).toMatch(/^\d+\.\d+\.\d+/);
  return existsSync(join(root, "node-started"));
}

describe("bin/slipway", () => {
  test("starts Node once, and not again while nothing is missing", async () => {
    expect(await startsNode()).toBe(true);
    expect(await startsNode()).toBe(false);
  });

  test("checks the packages again after the lock file changed", async () => {
    await startsNode();
    const lock = join(root, "package-lock.json");
    writeFileSync(lock, `${await Bun.file(lock).text()}\n`);
    expect(await startsNode()).toBe(true);
    expect(await startsNode()).toBe(false);
  });

  test("checks the packages again after npm changed them", async () => {
    await startsNode();
    const soon = new Date(Date.now() + 2000);
    utimesSync(join(root, "node_modules/.package-lock.json"), soon, soon);
    expect(await startsNode()).toBe(true);
  });

  /** A mount namespace with an empty /proc; without root one of a new user namespace. */
  const withoutProc = [
    ...["unshare", ...(process.getuid?.() === 0 ? [] : ["--map-root-user"]), "--mount", "sh", "-c"],
    'mount -t tmpfs none /proc && exec "$0" version',
  ];

  test("explains that /proc is missing, which the runtime would call a bug of its own", async () => {
    const { stdout, stderr, exitCode } = Bun.spawnSync([...withoutProc, join(root, "bin/slipway")]);
    expect([exitCode, stdout.toString()]).toEqual([1, ""]);
    expect(stderr.toString()).toStartWith("slipway: /proc is not mounted");
    expect(stderr.toString().trim().split("\n")).toHaveLength(1);
  });
});
