import { expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { loadDataKey } from "../../src/store/maintenance/data-key.ts";
import { buildCli } from "../support/cli.ts";
import { openTestStore } from "../support/databases.ts";
import { openServiceScene } from "../support/keeper-scene.ts";
import { examplesOf } from "../support/page-examples.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const slipway = buildCli({});
const isRoot = process.getuid?.() === 0;
const otherUser = 12_345;

/** The folder of a runner with data of project 7. */
function runnerWithData(text = "first\n") {
  const top = temporaryFolder("service-data");
  const root = join(top, "runner");
  const uploads = join(root, "data/7/uploads");
  mkdirSync(uploads, { recursive: true });
  chmodSync(join(root, "data/7"), 0o711);
  writeFileSync(join(uploads, "file"), text, { mode: 0o640 });
  symlinkSync("/etc/passwd", join(uploads, "link"));
  if (isRoot) chownSync(join(uploads, "file"), otherUser, otherUser);
  return { top, root, uploads, file: join(top, "shop.tar.zst"), of: ["--runner-dir", root] };
}

test("a backup of data folders comes back with owners, modes and links, and what was there before stays beside", async () => {
  const { root, uploads, file, of } = runnerWithData();
  const done = await slipway(["service", "backup", "7", "--file", file, ...of]);
  expect(done).toMatchObject({
    exitCode: 0,
    stderr: "",
    stdout: `Backed up the data of project 7 into ${file}.\n`,
  });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const listed = Bun.spawnSync(["tar", "--list", "--zstd", "--file", file]);
  expect(listed.stdout.toString().split("\n")).toContain("./uploads/link");

  writeFileSync(join(uploads, "file"), "second\n");
  writeFileSync(join(uploads, "more"), "more\n");
  const restored = await slipway(["service", "restore", "7", "--file", file, "--json", ...of]);
  expect(restored).toMatchObject({ exitCode: 0, stderr: "" });
  const { earlier } = restored.json() as { earlier: string };
  expect(readFileSync(join(uploads, "file"), "utf8")).toBe("first\n");
  expect(statSync(join(uploads, "file")).mode & 0o777).toBe(0o640);
  if (isRoot) expect(statSync(join(uploads, "file"))).toMatchObject({ uid: otherUser, gid: otherUser });
  expect(readlinkSync(join(uploads, "link"))).toBe("/etc/passwd");
  expect(lstatSync(join(root, "data/7")).mode & 0o777).toBe(0o711);
  expect(existsSync(join(uploads, "more"))).toBe(false);
  expect(readFileSync(join(earlier, "uploads/file"), "utf8")).toBe("second\n");
  expect(readdirSync(join(root, "data")).sort()).toEqual(["7", earlier.split("/").at(-1) ?? ""]);
});

test("a restore goes to a machine without data of the project, also under another id", async () => {
  const { file, of } = runnerWithData();
  await slipway(["service", "backup", "7", "--file", file, ...of]);
  const root = join(temporaryFolder("service-data"), "runner");
  mkdirSync(root);
  const restored = await slipway(["service", "restore", "9", "--file", file, "--runner-dir", root]);
  expect(restored).toMatchObject({ exitCode: 0, stdout: "Restored the data of project 9.\n" });
  expect(readFileSync(join(root, "data/9/uploads/file"), "utf8")).toBe("first\n");
});

test("refusals name the reason, and change nothing", async () => {
  const { top, root, uploads, file, of } = runnerWithData();
  const fails = async (args: string[], exitCode: number, text: string) => {
    const ran = await slipway(["service", ...args]);
    expect(ran.stderr).toContain(text);
    expect(ran.exitCode).toBe(exitCode);
  };
  await fails(["backup", "8", "--file", file, ...of], 5, "Project 8 has no data folder");
  await fails(["backup", "shop", "--file", file, ...of], 5, 'No project "shop" has services in');
  const nowhere = ["--runner-dir", join(top, "nowhere")];
  await fails(["backup", "7", "--file", file, ...nowhere], 5, "as the runner's user and with its settings");
  await fails(["backup", "7", "--file", join(top, "none/x"), ...of], 2, "cannot be written");
  await fails(["restore", "7", "--file", file, ...of], 2, "no such file");
  await slipway(["service", "backup", "7", "--file", file, ...of]);
  await fails(["backup", "7", "--file", file, ...of], 1, "exists: name a new file");
  mkdirSync(join(root, "data/.restore-7"));
  await fails(["restore", "7", "--file", file, ...of], 1, "Another restore of project 7 runs");
  expect(readdirSync(top).sort()).toEqual(["runner", "shop.tar.zst"]);
  expect(readdirSync(uploads).sort()).toEqual(["file", "link"]);
});

test("a backup that is not complete, or damaged, is not restored", async () => {
  const { root, uploads, file, of } = runnerWithData();
  // Enough that the file has several blocks.
  writeFileSync(join(uploads, "noise"), crypto.getRandomValues(new Uint8Array(60_000)));
  await slipway(["service", "backup", "7", "--file", file, ...of]);
  writeFileSync(join(uploads, "file"), "kept\n");
  const whole = readFileSync(file);
  const restore = () => slipway(["service", "restore", "7", "--file", file, ...of]);
  for (const missing of [1, 24, 200, whole.length - 10]) {
    writeFileSync(file, whole);
    truncateSync(file, whole.length - missing);
    expect(await restore()).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("is not a complete backup"),
    });
  }
  const damaged = Buffer.from(whole);
  damaged[40_000] = (damaged[40_000] ?? 0) ^ 1;
  writeFileSync(file, damaged);
  const refused = await restore();
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toContain(file);
  expect(readFileSync(join(uploads, "file"), "utf8")).toBe("kept\n");
  expect(readdirSync(join(root, "data"))).toEqual(["7"]);
});

test("docs/services.md: a backup says that services run, and a restore is refused until they are stopped", async () => {
  const scene = await openServiceScene("none");
  try {
    const uploads = join(scene.root, "data/7/uploads");
    mkdirSync(uploads, { recursive: true });
    writeFileSync(join(uploads, "file"), "first\n");
    const variables = { CI_PROJECT_NAME: "shop" };
    const release = scene.release([scene.service("web", "exec sleep 600")], { variables, secrets: [] });
    await scene.deploy(release);
    await scene.serves();
    const of = ["--runner-dir", scene.root];
    const file = join(temporaryFolder("service-data"), "shop.tar.zst");
    const page = (await examplesOf("services.md", { "shop.tar.zst": file })).find(
      ({ id }) => id === "backup",
    );
    const [backup = [], stop, restore = []] = (page?.text ?? "")
      .split("\n")
      .map((line) => line.split(" ").slice(1));
    const done = await slipway([...backup, ...of]);
    expect(done).toMatchObject({ exitCode: 0, stderr: "" });
    expect(done.stdout).toContain("Running meanwhile: web.");
    writeFileSync(join(uploads, "file"), "second\n");
    const refused = await slipway([...restore, ...of]);
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain(
      "Services of project 7 run: web. Stop them first: slipway service stop 7 web.",
    );
    expect(readFileSync(join(uploads, "file"), "utf8")).toBe("second\n");
    // By the server, which this test does not have.
    expect(stop).toEqual(["service", "stop", "shop", "web"]);
    await scene.services().act(7, "stop", ["web"], scene.progress, new AbortController().signal);
    const restored = await slipway([...restore, ...of]);
    expect(restored).toMatchObject({ exitCode: 0, stderr: "" });
    expect(readFileSync(join(uploads, "file"), "utf8")).toBe("first\n");
  } finally {
    await scene.stop();
  }
});

test("the server's backup says that data folders are not in it, and --service-data adds those of the local runner", async () => {
  const { top, root, of } = runnerWithData();
  const dataDir = join(top, "data");
  const store = await openTestStore(`sqlite:${join(dataDir, "slipway.db")}`);
  await loadDataKey({ dataDir, encryptionKey: undefined }, store);
  await store.close();
  const file = join(top, "backup");
  const without = await slipway(["backup", file, "--data-dir", dataDir, ...of]);
  expect(without).toMatchObject({ exitCode: 0, stderr: "" });
  expect(without.stdout).toContain("Data folders of services are not in it: `slipway service backup PROJECT");
  expect(existsSync(`${file}.service-data`)).toBe(false);
  const all = ["backup", file, "--service-data", "--data-dir", dataDir, ...of];
  const both = await slipway(all);
  const ofProject = join(`${file}.service-data`, "7.tar.zst");
  expect(both).toMatchObject({ exitCode: 0, stderr: "" });
  expect(both.stdout).toContain(`Backed up the data of project 7 into ${ofProject}.`);
  expect(both.stdout).not.toContain("not in it");
  expect(statSync(`${file}.service-data`).mode & 0o777).toBe(0o700);
  writeFileSync(join(root, "data/7/uploads/file"), "second\n");
  await slipway(["service", "restore", "7", "--file", ofProject, ...of]);
  expect(readFileSync(join(root, "data/7/uploads/file"), "utf8")).toBe("first\n");
  const again = await slipway(all);
  expect(again).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("Remove the folder") });
});
