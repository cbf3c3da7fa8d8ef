import { beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { makeTestUser } from "../support/test-user.ts";

const repository = join(import.meta.dir, "../..");
let root = "";

/** The launcher and the builder around a small program that prints its text and whether it was built. */
beforeEach(() => {
  root = temporaryFolder("built");
  chmodSync(root, 0o755);
  for (const entry of [
    "bin/slipway",
    "scripts/build-program.ts",
    "scripts/bundle-plugins.ts",
    "src/launch/launch.ts",
    "src/launch/built-program.ts",
    "src/own-command.ts",
    "bunfig.toml",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
  ]) {
    mkdirSync(dirname(join(root, entry)), { recursive: true });
    cpSync(join(repository, entry), join(root, entry));
  }
  mkdirSync(join(root, "src/app"));
  writeFileSync(join(root, "src/app/store-thread-program.ts"), "");
  write("src/text.ts", 'export const text = "one";\n');
  write(
    "src/main.ts",
    'import { text } from "./text.ts";\nconst kind = typeof builtStoreThread === "string" ? "built" : "source";\nconsole.log(kind, text);\n',
  );
  mkdirSync(join(root, "node_modules"));
  symlinkSync(join(repository, "node_modules/bun"), join(root, "node_modules/bun"));
  cpSync(join(repository, "package-lock.json"), join(root, "node_modules/.slipway-lock.json"));
});

const cache = () => join(root, ".cache/program");
const bun = join(repository, "node_modules/bun/bin/bun.exe");

/** Writes a file whose times lie a minute ago, as those of an installation do. */
function write(path: string, content: string): void {
  writeFileSync(join(root, path), content);
  const before = new Date(Date.now() - 60_000);
  utimesSync(join(root, path), before, before);
}

async function run(command: string[], options: { cwd?: string } = {}): Promise<string> {
  const child = Bun.spawn(command, { ...options, stdout: "pipe", stderr: "pipe" });
  const [output, problems] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect({ problems, exitCode: await child.exited }).toEqual({ problems: "", exitCode: 0 });
  return output.trim();
}

const slipway = (command = "version") => run([join(root, "bin/slipway"), command]);
/** The build has the lowest priority, and takes long beside other tests. */
const buildWithinMs = 240_000;
async function untilBuilt(): Promise<void> {
  await eventually("it is built", () => existsSync(join(cache(), "current.json")), buildWithinMs);
  expect(await slipway()).toBe("built one");
}

const build = (cwd = root) => run([bun, join(root, "scripts/build-program.ts")], { cwd });

describe("bin/slipway", () => {
  test(
    "runs the sources at first; a server has the program built for later starts",
    async () => {
      expect(await slipway()).toBe("source one");
      expect(existsSync(cache())).toBe(false);
      expect(await slipway("push")).toBe("source one");
      await untilBuilt();
    },
    buildWithinMs + 60_000,
  );

  test("runs the sources after one of them changed, also when size and time are the same", async () => {
    await build();
    expect(await slipway()).toBe("built one");
    const { atime, mtime } = statSync(join(root, "src/text.ts"));
    writeFileSync(join(root, "src/text.ts"), 'export const text = "two";\n');
    utimesSync(join(root, "src/text.ts"), atime, mtime);
    expect(await slipway()).toBe("source two");
    await build();
    expect(await slipway()).toBe("built two");
  });

  test("runs the sources after one of them changed, wherever the build was started", async () => {
    for (const [index, cwd] of ["/", tmpdir(), repository, join(root, "src/app")].entries()) {
      await build(cwd);
      expect(await slipway()).toBe(index === 0 ? "built one" : `built changed ${index - 1}`);
      write("src/text.ts", `export const text = "changed ${index}";\n`);
      expect(await slipway()).toBe(`source changed ${index}`);
    }
  });

  test("runs the sources of another version that replaced the folder, with the times that it had", async () => {
    const earlier = join(root, "earlier");
    cpSync(join(root, "src"), earlier, { recursive: true, preserveTimestamps: true });
    write("src/text.ts", 'export const text = "two";\n');
    await build();
    expect(await slipway()).toBe("built two");
    rmSync(join(root, "src"), { recursive: true });
    renameSync(earlier, join(root, "src"));
    expect(await slipway()).toBe("source one");
  });

  test("runs the sources after a package or the lock file changed", async () => {
    mkdirSync(join(root, "node_modules/greeting"));
    write("node_modules/greeting/index.js", 'export const text = "from a package";\n');
    write("src/text.ts", 'export { text } from "greeting";\n');
    await build();
    expect(await slipway()).toBe("built from a package");
    write("node_modules/greeting/index.js", 'export const text = "from another";\n');
    expect(await slipway()).toBe("source from another");
    await build();
    expect(await slipway()).toBe("built from another");
    for (const lock of ["package-lock.json", "node_modules/.slipway-lock.json"]) write(lock, "{}");
    expect(await slipway()).toBe("source from another");
  });

  test("runs the sources when the built files are damaged, or of a folder that was moved", async () => {
    await build();
    const folder = readdirSync(cache()).find((name) => name !== "current.json") ?? "";
    const bytecode = join(cache(), folder, "main.js.jsc");
    truncateSync(bytecode, statSync(bytecode).size - 1);
    expect(await slipway()).toBe("source one");
    rmSync(cache(), { recursive: true });
    await build();
    const moved = `${root}-moved`;
    renameSync(root, moved);
    try {
      expect(await run([join(moved, "bin/slipway"), "version"])).toBe("source one");
    } finally {
      renameSync(moved, root);
    }
  });

  test("never runs what a killed build left behind, and builds again", async () => {
    mkdirSync(join(cache(), "1-1"), { recursive: true });
    writeFileSync(join(cache(), "1-1/main.js"), 'console.log("half');
    writeFileSync(join(cache(), "current.json.1"), '{"root":');
    writeFileSync(join(cache(), "building"), "1\n");
    // Not a server, which would have the program built beside this test.
    expect(await slipway()).toBe("source one");
    await build();
    expect(await slipway()).toBe("source one");
    const before = new Date(Date.now() - 600_000);
    utimesSync(join(cache(), "building"), before, before);
    await build();
    expect(await slipway()).toBe("built one");
  });

  test(
    "several first starts at once all run, and one build remains",
    async () => {
      const outputs = await Promise.all(
        ["push", "start", "deploy", "runner"].map((command) => slipway(command)),
      );
      for (const output of outputs) expect(output).toMatch(/^(source|built) one$/);
      await untilBuilt();
      const { main } = JSON.parse(readFileSync(join(cache(), "current.json"), "utf8"));
      expect(existsSync(main)).toBe(true);
    },
    buildWithinMs + 60_000,
  );

  test("keeps the programs of a few versions, for servers that still run them", async () => {
    for (const text of ["a", "b", "c", "d", "e"]) {
      write("src/text.ts", `export const text = "${text}";\n`);
      await build();
      expect(await slipway()).toBe(`built ${text}`);
    }
    expect(readdirSync(cache())).toHaveLength(4);
  });

  test("runs the sources where it may not write, and a program that the owner built", async () => {
    const user = await makeTestUser();
    if (user === undefined) return;
    const command = [
      "setpriv",
      `--reuid=${user.uid}`,
      `--regid=${user.gid}`,
      "--clear-groups",
      join(root, "bin/slipway"),
      "push",
    ];
    expect(await run(command)).toBe("source one");
    expect(existsSync(join(root, ".cache"))).toBe(false);
    await build();
    expect(await run(command)).toBe("built one");
  });
});
