import { beforeEach, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import pino from "pino";
import { identityOf } from "../../src/runner/process/process-tree.ts";
import { openIncomingData, sweepIncomingData } from "../../src/runner/transfer/fetch-data.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

let parent: string;
let folder: string;
beforeEach(() => {
  parent = temporaryFolder("data");
  folder = join(parent, "7");
  mkdirSync(folder);
  writeFileSync(join(folder, "note"), "earlier");
});

const note = () => readFileSync(join(folder, "note"), "utf8");
const sweep = (isServing = false) => sweepIncomingData(parent, () => isServing, pino({ level: "silent" }));

/** Data that has arrived, but is not in its place. */
async function arrived(owner?: string) {
  const data = openIncomingData(folder, owner);
  const fresh = await data.begin();
  writeFileSync(join(fresh, "note"), "fetched");
  return { data, fresh };
}

/** As of a runner that was killed. */
const killed = "4194304-1";

test("what was there before goes when the task has succeeded", async () => {
  const { data } = await arrived();
  data.place();
  expect(note()).toBe("fetched");
  await data.done();
  expect([readdirSync(parent), note()]).toEqual([["7"], "fetched"]);
});

test("what was there before comes back when the task has failed", async () => {
  const { data } = await arrived();
  data.place();
  await data.undo();
  expect([readdirSync(parent), note()]).toEqual([["7"], "earlier"]);
});

test("what was there stays if what has arrived cannot take its place", async () => {
  const { data, fresh } = await arrived();
  rmSync(fresh, { recursive: true });
  expect(data.place).toThrow();
  expect(note()).toBe("earlier");
});

test("a runner that starts removes what a killed one was fetching, and nothing of a living one", async () => {
  await arrived(killed);
  const other = Bun.spawn(["sleep", "60"]);
  const { pid, startedAt } = identityOf(other.pid);
  const { fresh } = await arrived(`${pid}-${startedAt}`);
  await sweep();
  expect(readdirSync(parent).toSorted()).toEqual([basename(fresh), "7"].toSorted());
  other.kill("SIGKILL");
  await other.exited;
  await sweep();
  expect([readdirSync(parent), note()]).toEqual([["7"], "earlier"]);
});

test.each([
  ["what was there before, if nothing serves with what has come", false, "earlier"],
  ["what has come, if that serves", true, "fetched"],
])("a runner that starts after one was killed during the task keeps %s", async (_what, isServing, kept) => {
  const { data } = await arrived(killed);
  data.place();
  await sweep(isServing);
  expect([readdirSync(parent), note()]).toEqual([["7"], kept]);
});

test("what was there before comes back if the runner was killed before anything was in its place", async () => {
  const { data } = await arrived(killed);
  data.place();
  rmSync(folder, { recursive: true });
  await sweep(true);
  expect([readdirSync(parent), note()]).toEqual([["7"], "earlier"]);
});
