import { defaultSettleSeconds, type Project, type StageName, type Stages } from "../../model/project.ts";
import type { Release } from "../../model/release.ts";

/** A setting that a release was made with and that the project has changed since. */
export interface ChangedSetting {
  /** As in the project: `env.PORT`, `stages.start.healthCheck`. */
  setting: string;
  /** The value with the release; null: not set. */
  release: string | null;
  /** The value in the project now. */
  project: string | null;
}

/** The settings that return with a release, as far as they differ from those of the project. */
export function changedSettings(
  release: Pick<Release, "stages" | "env">,
  project: Pick<Project, "stages" | "env" | "image">,
  stages: readonly StageName[],
): ChangedSetting[] {
  const then = { ...variables(release.env), ...stageSettings(release.stages, "", stages) };
  const now = { ...variables(project.env), ...stageSettings(project.stages, project.image, stages) };
  const names = [...new Set([...Object.keys(then), ...Object.keys(now)])];
  return names
    .map((setting) => ({ setting, release: then[setting] ?? null, project: now[setting] ?? null }))
    .filter((changed) => changed.release !== changed.project);
}

/** Of a release without the variables that describe its task. */
function variables(env: Record<string, string>): Record<string, string> {
  const own = Object.entries(env).filter(([name]) => !name.startsWith("CI_"));
  return Object.fromEntries(own.map(([name, value]) => [`env.${name}`, value]));
}

/** The stages of a release have their image; those of a project may use the project's. */
function stageSettings(
  stages: Stages,
  image: string,
  names: readonly StageName[],
): Record<string, string | null> {
  const settings: Record<string, string | null> = {};
  for (const name of names) {
    const { script, directory, timeout, healthCheck, network, image: own = image } = stages[name];
    const texts = { script, directory, timeout, image: own, network, healthCheck: checkText(healthCheck) };
    for (const [field, value] of Object.entries({ ...texts, ...(name === "start" ? rulesOf(stages) : {}) }))
      settings[`stages.${name}.${field}`] = value === undefined || value === "" ? null : textOf(value);
  }
  return settings;
}

function rulesOf({ start }: Stages) {
  const { previous, settleSeconds = defaultSettleSeconds, log, switch: switchScript } = start;
  return { previous, settleSeconds, log, switch: switchScript };
}

function checkText(check: Stages["start"]["healthCheck"]): string | undefined {
  if (!check) return undefined;
  const { timeoutSeconds } = check;
  if (check.type === "command") return `${check.command} (${timeoutSeconds} s)`;
  if (check.type === "tcp") return `tcp ${check.host}:${check.port} (${timeoutSeconds} s)`;
  const expected = check.expect ? ` "${check.expect}"` : "";
  return `${check.url}${expected} (${timeoutSeconds} s)`;
}

function textOf(value: string | number | null): string | null {
  return value === null ? null : String(value);
}
