import { expect, test } from "bun:test";
import { completePipeline } from "../../src/model/pipeline.ts";
import type { ServiceBody } from "../../src/model/service/service.ts";
import { stageNames } from "../../src/model/stage/stage-name.ts";
import { changedSettings } from "../../src/task/release/changed-settings.ts";

const pipeline = (web: ServiceBody = {}) =>
  completePipeline({ build: [{ script: "make" }], start: { web: { command: "./serve", ...web } } });

test("what differs between a release and its project is named with both values", () => {
  const release = { env: { PORT: "1", GONE: "x", SAME: "y", CI_REF_NAME: "main" }, pipeline: pipeline() };
  const project = {
    env: { PORT: "2", NEW: "z", SAME: "y" },
    image: "",
    pipeline: pipeline({
      command: "./other",
      check: { http: "/", within: 5 },
      limits: { memoryMb: 64 },
      env: { MODE: "live" },
    }),
  };
  expect(changedSettings(release, project, stageNames)).toEqual([
    { setting: "env.PORT", release: "1", project: "2" },
    { setting: "env.GONE", release: "x", project: null },
    { setting: "services.web.command", release: "./serve", project: "./other" },
    { setting: "services.web.env", release: null, project: "MODE=live" },
    { setting: "services.web.check", release: null, project: "/ (5 s)" },
    { setting: "services.web.limits", release: null, project: "memoryMb=64" },
    { setting: "env.NEW", release: null, project: "z" },
  ]);
});

test("nothing differs where the project is as it was, and stages that do not run are left out", () => {
  const image = "debian:12";
  const pinned = completePipeline({
    build: [{ script: "make", image }],
    start: { web: { command: "./serve", image } },
  });
  const project = { env: {}, image, pipeline: pipeline() };
  expect(changedSettings({ env: {}, pipeline: pinned }, project, stageNames)).toEqual([]);
  for (const step of pinned.build) step.script = "make all";
  expect(changedSettings({ env: {}, pipeline: pinned }, project, ["deploy", "start"])).toEqual([]);
  expect(changedSettings({ env: {}, pipeline: pinned }, project, stageNames)).toHaveLength(1);
});

test("a service that was added, and steps that became services, are named by their fields", () => {
  const steps = completePipeline({ start: [{ script: "./serve", check: { command: "./ask" } }] });
  const project = {
    env: {},
    image: "",
    pipeline: completePipeline({ start: { worker: { command: "./work" } } }),
  };
  expect(changedSettings({ env: {}, pipeline: steps }, project, stageNames)).toEqual([
    { setting: "stages.start.script", release: "./serve", project: null },
    { setting: "stages.start.check", release: "./ask (60 s)", project: null },
    { setting: "services.worker.command", release: null, project: "./work" },
  ]);
});
