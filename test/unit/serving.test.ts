import { expect, test } from "bun:test";
import { type Serving, servingOf } from "../../console/serving.ts";

type Project = Parameters<typeof servingOf>[0];

const live: Project = { liveTaskId: 7, liveNote: "", liveNoteParts: [], services: null };
const note = (code: Project["liveNoteParts"][number]["code"]) => ({
  liveNote: "a note",
  liveNoteParts: [{ code, values: {} }],
});
const services = (state: NonNullable<Project["services"]>["state"]) => ({
  services: { state, serving: 0, total: 1 },
});

const cases: [string, Project, { isChecked: boolean } | undefined, Serving][] = [
  ["its check passed", live, { isChecked: true }, "serving"],
  ["nothing checks it", live, { isChecked: false }, "unchecked"],
  ["its release is not loaded yet", live, undefined, "unchecked"],
  ["it was put back without a check", { ...live, ...note("put_back") }, { isChecked: true }, "unchecked"],
  ["it serves again, proven", { ...live, ...note("rolled_back") }, { isChecked: true }, "serving"],
  ["a service is unhealthy", { ...live, ...services("unhealthy") }, { isChecked: true }, "unhealthy"],
  ["its runner is away", { ...live, ...services("unknown") }, { isChecked: true }, "unknown"],
  ["a deploy failed", { ...live, liveTaskId: null, ...note("live_failed") }, undefined, "unknown"],
  ["it is being replaced", { ...live, liveTaskId: null, ...note("live_replacing") }, undefined, "deploying"],
  ["nothing was deployed", { ...live, liveTaskId: null }, undefined, "never"],
];

test.each(cases)("%s: the console says what is known", (_, project, release, said) => {
  expect(servingOf(project, release)).toBe(said);
});
