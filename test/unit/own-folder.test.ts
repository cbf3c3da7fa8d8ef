import { beforeEach, expect, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import pino from "pino";
import { identityOf } from "../../src/runner/process/process-tree.ts";
import { ownFolderIn, sweepOwnFolders } from "../../src/runner/workspace/own-folder.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

let parent: string;
const sweep = () => sweepOwnFolders(parent, pino({ level: "silent" }));

beforeEach(() => {
  parent = temporaryFolder("own");
});

function make(name: string): void {
  mkdirSync(join(parent, name, "git-abc123"), { recursive: true });
  writeFileSync(join(parent, name, "git-abc123/key"), "a key");
}

test("folders of living processes stay, and go when their process has ended", async () => {
  const other = Bun.spawn(["sleep", "60"]);
  const { pid, startedAt } = identityOf(other.pid);
  const [own, others] = [basename(ownFolderIn(parent)), `${pid}-${startedAt}`];
  for (const name of [own, others]) make(name);
  sweep();
  expect(readdirSync(parent).toSorted()).toEqual([own, others].toSorted());
  other.kill("SIGKILL");
  await other.exited;
  sweep();
  expect(readdirSync(parent)).toEqual([own]);
});

test("a process that got the pid of a killed one, as after the restart of a container, keeps nothing of it", () => {
  make(`${process.pid}-1`);
  sweep();
  expect(readdirSync(parent)).toEqual([]);
});

test("a folder that does not exist is no error", () => {
  sweepOwnFolders(join(parent, "none"), pino({ level: "silent" }));
});
