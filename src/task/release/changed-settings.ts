import type { Pinned } from "../../model/approval/task-approval.ts";
import { type Pipeline, servicesOf, stepDefaults } from "../../model/pipeline.ts";
import type { Project } from "../../model/project.ts";
import type { Release } from "../../model/release.ts";
import { routeDefaults } from "../../model/service/route.ts";
import { type ServiceCheck, serviceDefaults } from "../../model/service/service.ts";
import { type StageName, stepTitle } from "../../model/stage/stage-name.ts";

/** A setting that a release was made with and that the project has changed since. */
export interface ChangedSetting {
  /** As in the project: `env.PORT`, `stages.build/test.script`, `services.web.command`. */
  setting: string;
  /** The value with the release; null: not set. */
  release: string | null;
  /** The value in the project now. */
  project: string | null;
}

/** The settings that return with a release, as far as they differ from those of the project. */
export function changedSettings(
  release: Pick<Release, "pipeline" | "env">,
  project: Pick<Project, "pipeline" | "env" | "image">,
  stages: readonly StageName[],
): ChangedSetting[] {
  const then = { ...variables(release.env), ...pipelineSettings(release.pipeline, "", stages) };
  const now = { ...variables(project.env), ...pipelineSettings(project.pipeline, project.image, stages) };
  const names = [...new Set([...Object.keys(then), ...Object.keys(now)])];
  return names
    .map((setting) => ({ setting, release: then[setting] ?? null, project: now[setting] ?? null }))
    .filter((changed) => changed.release !== changed.project);
}

/** What an approval pins besides the settings of a release, as far as both requests have pinned it. */
export function changedPins(then: Pinned, now: Pinned): ChangedSetting[] {
  const [release, project] = [pinsOf(then), pinsOf(now)];
  return Object.keys(project)
    .filter((setting) => setting in release && release[setting] !== project[setting])
    .map((setting) => ({
      setting,
      release: release[setting] ?? null,
      project: project[setting] ?? null,
    }));
}

function pinsOf({ name, git: { url, ref, submodules, lfs = false }, isolation, limits }: Pinned) {
  const pins: Record<string, string | null> = {
    ...(name === undefined ? {} : { name }),
    ...{ "git.url": url, "git.ref": ref },
    ...{ "git.submodules": textOf(submodules), "git.lfs": textOf(lfs) },
    ...(isolation === undefined ? {} : { isolation }),
  };
  for (const [limit, value] of Object.entries(limits ?? {})) pins[`limits.${limit}`] = textOf(value);
  return pins;
}

/** Of a release without the variables that describe its task, among them its trace. */
function variables(env: Record<string, string>): Record<string, string> {
  const own = Object.entries(env).filter(([name]) => !name.startsWith("CI_") && name !== "TRACEPARENT");
  return Object.fromEntries(own.map(([name, value]) => [`env.${name}`, value]));
}

/** The steps and services of a release have their image; those of a project may use the project's. */
function pipelineSettings(
  { build, deploy, start, ...rest }: Pipeline,
  image: string,
  names: readonly StageName[],
): Record<string, string | null> {
  const settings: Record<string, string | null> = {};
  for (const [field, value] of Object.entries(rest)) settings[`pipeline.${field}`] = textOf(value);
  const isStarted = names.includes("start");
  const steps = { build, deploy, start: Array.isArray(start) ? start : [] };
  for (const stage of names)
    for (const { name, ...fields } of steps[stage])
      add(
        settings,
        `stages.${stepTitle(stage, name)}`,
        { ...fields, image: fields.image || image },
        stepDefaults,
      );
  for (const { name, routes, ...fields } of isStarted ? servicesOf({ start }) : []) {
    add(settings, `services.${name}`, { ...fields, image: fields.image || image }, serviceDefaults);
    for (const [index, route] of routes.entries())
      add(settings, `services.${name}.routes.${index}`, route, routeDefaults);
  }
  return settings;
}

/** A value as in a project that says nothing about it is null. */
function add(
  settings: Record<string, string | null>,
  path: string,
  fields: Record<string, Setting>,
  defaults: Record<string, unknown>,
): void {
  for (const [field, value] of Object.entries(fields))
    settings[`${path}.${field}`] = Bun.deepEquals(value, defaults[field])
      ? null
      : field === "check"
        ? checkText(value as ServiceCheck)
        : value === false
          ? "false"
          : textOf(value);
}

type Setting =
  | string
  | number
  | boolean
  | null
  | string[]
  | ServiceCheck
  | Record<string, string | number | null>;

function textOf(value: Setting): string | null {
  if (value === null || value === "" || value === false) return null;
  if (Array.isArray(value)) return value.join(", ") || null;
  if (typeof value !== "object") return String(value);
  const set = Object.entries(value).filter(([, each]) => each !== null);
  return set.map(([name, each]) => `${name}=${each}`).join(", ") || null;
}

/** `tcp $PORT (60 s)` */
function checkText({ http, tcp, command, expect, within }: ServiceCheck): string {
  const asked = command || (tcp === "" ? http : `tcp ${tcp}`);
  return `${asked}${expect === "" ? "" : ` "${expect}"`} (${within} s)`;
}
