import { expect, test } from "bun:test";
import type { Stages } from "../../src/model/project.ts";
import { changedSettings } from "../../src/task/release/changed-settings.ts";

const stages = (start: Partial<Stages["start"]> = {}): Stages => ({
  build: { script: "make", timeout: null },
  deploy: { script: "", timeout: null },
  start: { script: "./serve &", timeout: null, previous: "stop-first", ...start },
});
const http = (url: string) => ({ type: "http", url, timeoutSeconds: 5 }) as const;
const all = ["build", "deploy", "start"] as const;

test("what differs between a release and its project is named with both values", () => {
  const release = { env: { PORT: "1", GONE: "x", SAME: "y", CI_REF_NAME: "main" }, stages: stages() };
  const project = {
    env: { PORT: "2", NEW: "z", SAME: "y" },
    image: "",
    stages: stages({ script: "./other &", healthCheck: http("http://127.0.0.1:2/"), settleSeconds: 9 }),
  };
  expect(changedSettings(release, project, all)).toEqual([
    { setting: "env.PORT", release: "1", project: "2" },
    { setting: "env.GONE", release: "x", project: null },
    { setting: "stages.start.script", release: "./serve &", project: "./other &" },
    { setting: "stages.start.healthCheck", release: null, project: "http://127.0.0.1:2/ (5 s)" },
    { setting: "stages.start.settleSeconds", release: "5", project: "9" },
    { setting: "env.NEW", release: null, project: "z" },
  ]);
});

test("nothing differs where the project is as it was, and stages that do not run are left out", () => {
  const pinned = stages();
  for (const name of all) pinned[name].image = "debian:12";
  const project = { env: {}, image: "debian:12", stages: stages() };
  expect(changedSettings({ env: {}, stages: pinned }, project, all)).toEqual([]);
  pinned.build.script = "make all";
  expect(changedSettings({ env: {}, stages: pinned }, project, ["deploy", "start"])).toEqual([]);
  expect(changedSettings({ env: {}, stages: pinned }, project, all)).toHaveLength(1);
});
