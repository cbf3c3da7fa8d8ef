import { expect, test } from "bun:test";
import { completePipeline, type StartStep } from "../../src/model/pipeline.ts";
import { stageNames } from "../../src/model/stage/stage-name.ts";
import { changedSettings } from "../../src/task/release/changed-settings.ts";

const pipeline = (start: Partial<StartStep> = {}) =>
  completePipeline({ build: [{ script: "make" }], start: [{ script: "./serve &", ...start }] });
const http = (url: string) => ({ type: "http", url, timeoutSeconds: 5 }) as const;

test("what differs between a release and its project is named with both values", () => {
  const release = { env: { PORT: "1", GONE: "x", SAME: "y", CI_REF_NAME: "main" }, pipeline: pipeline() };
  const project = {
    env: { PORT: "2", NEW: "z", SAME: "y" },
    image: "",
    pipeline: pipeline({ script: "./other &", healthCheck: http("http://127.0.0.1:2/"), settleSeconds: 9 }),
  };
  expect(changedSettings(release, project, stageNames)).toEqual([
    { setting: "env.PORT", release: "1", project: "2" },
    { setting: "env.GONE", release: "x", project: null },
    { setting: "stages.start.script", release: "./serve &", project: "./other &" },
    { setting: "stages.start.healthCheck", release: null, project: "http://127.0.0.1:2/ (5 s)" },
    { setting: "stages.start.settleSeconds", release: "5", project: "9" },
    { setting: "env.NEW", release: null, project: "z" },
  ]);
});

test("nothing differs where the project is as it was, and stages that do not run are left out", () => {
  const image = "debian:12";
  const pinned = completePipeline({
    build: [{ script: "make", image }],
    start: [{ script: "./serve &", image }],
  });
  const project = { env: {}, image, pipeline: pipeline() };
  expect(changedSettings({ env: {}, pipeline: pinned }, project, stageNames)).toEqual([]);
  for (const step of pinned.build) step.script = "make all";
  expect(changedSettings({ env: {}, pipeline: pinned }, project, ["deploy", "start"])).toEqual([]);
  expect(changedSettings({ env: {}, pipeline: pinned }, project, stageNames)).toHaveLength(1);
});
