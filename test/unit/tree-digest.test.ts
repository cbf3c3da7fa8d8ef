import { expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  lutimesSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { treeDigest } from "../../src/runner/workspace/tree-digest.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A folder with files of each kind. One name is not UTF-8. */
function tree(): string {
  const folder = temporaryFolder("tree");
  mkdirSync(join(folder, "sub", "empty"), { recursive: true });
  writeFileSync(join(folder, "sub", "run"), "#!/bin/sh\n", { mode: 0o755 });
  writeFileSync(join(folder, "large"), Buffer.alloc(1_000_000, 7));
  writeFileSync(join(folder, "none"), "");
  writeFileSync(Buffer.concat([Buffer.from(`${folder}/caf`), Buffer.from([0xe9])]), "latin1");
  symlinkSync("run", join(folder, "sub", "link"));
  symlinkSync("/nowhere", join(folder, "broken"));
  return folder;
}
const digestOf = async (folder: string) => (await treeDigest(folder)).digest;

test("the digest of a tree is that of a copy elsewhere, of another time", async () => {
  const one = tree();
  const two = join(temporaryFolder("copy"), "two");
  Bun.spawnSync(["cp", "-dR", "--preserve=mode,links", one, two]);
  lutimesSync(join(two, "large"), 1, 1);
  expect(await treeDigest(two)).toEqual(await treeDigest(one));
  expect(await treeDigest(one)).toMatchObject({ files: 4, bytes: 1_000_016 });
});

test.each<[string, (folder: string) => void]>([
  ["a byte", (folder) => writeFileSync(join(folder, "none"), "1")],
  ["a mode", (folder) => chmodSync(join(folder, "sub", "run"), 0o644)],
  ["the mode of a folder", (folder) => chmodSync(join(folder, "sub"), 0o700)],
  ["a name", (folder) => renameSync(join(folder, "none"), join(folder, "nona"))],
  ["a place", (folder) => renameSync(join(folder, "sub", "empty"), join(folder, "empty"))],
  ["an empty folder", (folder) => mkdirSync(join(folder, "more"))],
  [
    "a link for a file of the same content",
    (folder) => {
      cpSync(join(folder, "sub", "run"), join(folder, "run"));
      rmSync(join(folder, "sub", "run"));
      symlinkSync("../run", join(folder, "sub", "run"));
    },
  ],
  [
    "the target of a link",
    (folder) => {
      rmSync(join(folder, "broken"));
      symlinkSync("/nowhere-else", join(folder, "broken"));
    },
  ],
  ["a pipe, which is not read", (folder) => void Bun.spawnSync(["mkfifo", join(folder, "pipe")])],
])("another digest: %s", async (_what, change) => {
  const folder = tree();
  const before = await digestOf(folder);
  change(folder);
  expect(await digestOf(folder)).not.toBe(before);
});

test("the digest can be had with other programs", async () => {
  const folder = temporaryFolder("tree");
  writeFileSync(join(folder, "a"), "one\n", { mode: 0o644 });
  mkdirSync(join(folder, "b"));
  chmodSync(join(folder, "b"), 0o755);
  symlinkSync("../a", join(folder, "b", "c"));
  const sum = new Bun.CryptoHasher("sha256");
  sum.update(`f 644 a\0${new Bun.CryptoHasher("sha256").update("one\n").digest("hex")}\0`);
  sum.update("d 755 b\0\0");
  sum.update("l 0 b/c\0../a\0");
  expect(await digestOf(folder)).toBe(sum.digest("hex"));
});
