import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkout } from "../../src/runner/checkout/checkout.ts";
import { diskUseOf } from "../../src/runner/workspace/disk-use.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";

let root: string;
let repository: GitRepository;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "slipway-clone-"));
  repository = await makeRepository();
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
  repository.remove();
});

const halfMebibyte = 1024 ** 2 / 2;
const clone = () => join(root, "clone.git");
const objects = () => join(clone(), "objects");
const workspace = (name: string) => join(root, name);

async function git(args: string[]) {
  const settings = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const gcOff = { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "gc.auto", GIT_CONFIG_VALUE_0: "0" };
  const child = Bun.spawn(["git", ...args], {
    env: { ...process.env, ...settings, ...gcOff },
    stderr: "ignore",
  });
  const output = await new Response(child.stdout).text();
  return { exitCode: await child.exited, output };
}

/** Checks out in a new workspace, as a task does. */
async function take(name: string, kept: string[] | null, commit: string | null = null): Promise<void> {
  // By an address: git copies a local path without regard to the depth.
  const repo = {
    url: `file://${repository.url}`,
    submodules: false,
    allowLocal: true,
    trusted: [],
    credential: null,
  };
  const borrowers = kept?.map(workspace) ?? null;
  const target = workspace(name);
  await checkout({ repo, ref: "main", commit, cache: clone(), borrowers, target, git, say() {} });
}

/** Each version has half a mebibyte of its own. */
async function pushVersion(): Promise<string> {
  const parts = Array.from({ length: 16 }, () => crypto.getRandomValues(new Uint8Array(32 * 1024)));
  return repository.push({ "data.txt": Buffer.concat(parts).toString("hex") });
}

async function takeVersions(count: number, kept: string[] | null): Promise<void> {
  for (let version = 0; version < count; version++) {
    await pushVersion();
    await take(`passing-${version}`, kept);
    rmSync(workspace(`passing-${version}`), { recursive: true });
  }
}

/** Three weeks pass, and the clone has as many files as after many fetches. */
function age(): void {
  const old = new Date(Date.now() - 21 * 24 * 3_600_000);
  for (const name of readdirSync(objects(), { recursive: true }))
    utimesSync(join(objects(), String(name)), old, old);
  for (let index = 0; index < 200; index++) writeFileSync(join(objects(), "pack", `pack-${index}.rev`), "");
}

const refs = async () => (await git(["--git-dir", clone(), "for-each-ref", "--format=%(refname)"])).output;

test("a clone drops what no kept workspace needs after two weeks, and what killed fetches left", async () => {
  const kept = await pushVersion();
  await take("kept", []);
  await takeVersions(5, ["kept"]);
  const unfinished = join(objects(), "pack/tmp_pack_killed");
  writeFileSync(unfinished, "half a pack");
  age();
  expect(await diskUseOf(objects())).toBeGreaterThan(5 * halfMebibyte);
  for (const round of [1, 2]) {
    await takeVersions(1, ["kept"]);
    expect(await diskUseOf(objects()), `round ${round}`).toBeLessThan(4 * halfMebibyte);
    expect(existsSync(unfinished)).toBeFalse();
    expect((await git(["-C", workspace("kept"), "fsck", "--connectivity-only"])).exitCode).toBe(0);
    expect((await git(["-C", workspace("kept"), "log", "--format=%H"])).output).toBe(`${kept}\n`);
    expect(await refs()).toBe("refs/slipway/build\n");
    age();
  }
  // Without the workspace, its objects go too.
  await takeVersions(1, []);
  expect((await git(["--git-dir", clone(), "cat-file", "-e", kept])).exitCode).not.toBe(0);
});

/** Whether the git of the workspace finds all objects of its history. */
async function isReadable(name: string): Promise<boolean> {
  return (await git(["-C", workspace(name), "rev-list", "--objects", "--quiet", "HEAD"])).exitCode === 0;
}

test("a workspace keeps its history also if a later fetch has cut that of the clone", async () => {
  await pushVersion();
  const second = await pushVersion();
  await pushVersion();
  await take("deep", [], second);
  expect((await git(["-C", workspace("deep"), "rev-list", "--count", "HEAD"])).output).toBe("2\n");
  await repository.git("reset", "-q", "--hard", second);
  await repository.git("push", "-q", "--force", "origin", "main");
  // A fetch of this commit alone.
  await take("again", ["deep"]);
  rmSync(workspace("again"), { recursive: true });
  await takeVersions(1, ["deep"]);
  age();
  await takeVersions(1, ["deep"]);
  expect(await isReadable("deep")).toBeTrue();
});

const changes = {
  async "a commit of its own"(name: string) {
    const author = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
    await git(["-C", workspace(name), ...author, "commit", "-q", "--allow-empty", "-m", "its own"]);
  },
  async "a branch"(name: string) {
    await git(["-C", workspace(name), "checkout", "-q", "-b", "a/branch"]);
    rmSync(join(workspace(name), ".git/logs"), { recursive: true });
  },
  async "packed refs"(name: string) {
    await git(["-C", workspace(name), "checkout", "-q", "-b", "packed"]);
    await git(["-C", workspace(name), "pack-refs", "--all"]);
  },
  async "a pipe among its refs"(name: string) {
    await Bun.spawn(["mkfifo", join(workspace(name), ".git/refs/heads/pipe")]).exited;
  },
};
for (const [what, change] of Object.entries(changes))
  test(`a workspace whose script made ${what} keeps its objects`, async () => {
    await pushVersion();
    await take("kept", []);
    await change("kept");
    await takeVersions(1, ["kept"]);
    age();
    await takeVersions(1, ["kept"]);
    expect(await isReadable("kept")).toBeTrue();
    expect(await refs()).toBe("refs/slipway/build\n");
  });

test("a clone whose workspaces are not known keeps all objects", async () => {
  const first = await pushVersion();
  await take("first", []);
  await takeVersions(1, null);
  age();
  await takeVersions(1, null);
  expect((await git(["--git-dir", clone(), "cat-file", "-e", first])).exitCode).toBe(0);
});
