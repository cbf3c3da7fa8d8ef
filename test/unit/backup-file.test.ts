import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { lstat, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { createBackupFile } from "../../src/store/maintenance/backup-file.ts";
import { failureOf } from "../support/failure.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("a backup replaces only a regular file: no folder, pipe or device", async () => {
  const folder = temporaryFolder("backup-file");
  const pipe = join(folder, "pipe");
  expect(spawnSync("mkfifo", [pipe]).status).toBe(0);
  const link = join(folder, "link");
  await symlink(pipe, link);
  for (const [path, problem] of [
    [folder, "it is a folder"],
    [pipe, "it is not a regular file"],
    [link, "it is not a regular file"],
  ] as const)
    expect(String(await failureOf(createBackupFile(path)))).toContain(problem);
  expect((await lstat(pipe)).isFIFO()).toBe(true);
  expect((await lstat(link)).isSymbolicLink()).toBe(true);
  expect((await readdir(folder)).toSorted()).toEqual(["link", "pipe"]);
});
