import { changeOf, webhookBody } from "../../../http/api/webhook-shape.ts";
import { inForce, webhookDefaults } from "../../../model/webhook-config.ts";
import { type Difference, differences } from "./difference.ts";
import { planTargets } from "./plan-notify.ts";
import { planSecrets } from "./plan-secrets.ts";
import type { ProjectFile } from "./schema.ts";
import {
  appliedSettings,
  type Fields,
  type ProjectState,
  picked,
  type SettingsFile,
  writtenSettings,
} from "./settings.ts";
import { type Shell, shownAs, stored } from "./shell.ts";
import type { Part, Step } from "./step.ts";

export interface Plan {
  differences: Difference[];
  /** None: there is nothing to change. */
  steps: Step[];
}

/**
 * What has to be sent so that a project is as the file says, and what it changes. All settings of the project are one change,
 * which comes first: if it is refused, nothing is changed. The webhook comes last: its deliveries start tasks, which need the rest.
 */
export function planOf(file: ProjectFile, state: ProjectState | null, shell: Shell): Plan {
  const environments = file.environments?.map(({ secrets: _, ...environment }) => environment);
  const parts = [
    planProject({ ...file, environments }, state, shell),
    ...planSecrets(file, state, shell),
    planWebhook(file, state, shell),
  ];
  return {
    differences: parts.flatMap(({ before, after }) => differences(before, after)),
    steps: parts.flatMap(({ steps }) => steps),
  };
}

function planProject(file: SettingsFile, state: ProjectState | null, shell: Shell): Part {
  const applied = appliedSettings(state?.project ?? null, file);
  const held = state ? (picked(writtenSettings(state.project), Object.keys(applied)) as Fields) : {};
  const targets = file.notify && planTargets(file.notify, state?.project.notify ?? [], shell);
  const before = { ...held, ...(targets && state ? { notify: targets.before } : {}) };
  const after = { ...applied, ...(targets ? { notify: targets.after } : {}) };
  const changed = changedNames(before, after);
  const body = { ...(picked({ ...file, notify: targets?.body }, changed) as Fields) };
  const step = { what: "the settings of the project", path: "", field: [], body };
  if (state === null) return { before, after, steps: [{ ...step, method: "POST" }] };
  const { revision } = state.project;
  return { before, after, steps: changed.length > 0 ? [{ ...step, method: "PATCH", revision }] : [] };
}

function planWebhook({ webhook }: ProjectFile, state: ProjectState | null, shell: Shell): Part {
  if (webhook === undefined) return { before: {}, after: {}, steps: [] };
  const { secret: key, ...settings } = webhook;
  const names = Object.keys(settings);
  const held: Fields = state === null ? {} : { ...state.webhook };
  const applied = inForce({ ...webhookDefaults, ...held, ...changeOf(webhookBody.parse(settings)) });
  const isSet = state?.webhook.secretSet === true;
  const value = key && shell.secret(["webhook", "secret"], key.from, isSet, webhookBody.shape.secret);
  const secret = isSet ? { secret: stored } : {};
  const applies = value !== undefined && value !== null && key ? { secret: shownAs(key.from) } : secret;
  const before = { ...(picked(held, names) as Fields), ...secret };
  const after = { ...(picked(applied, names) as Fields), ...(key === null ? {} : applies) };
  const body = {
    ...(picked(settings, changedNames(before, after)) as Fields),
    ...(typeof value === "string" ? { secret: value } : {}),
    ...(key === null && isSet ? { clearSecret: true } : {}),
  };
  const step = { what: "the webhook", method: "PUT", path: "/webhook", field: ["webhook"], body } as const;
  const revision = state === null ? {} : { revision: state.webhook.revision };
  return {
    before: { webhook: before },
    after: { webhook: after },
    steps: Object.keys(body).length > 0 ? [{ ...step, ...revision }] : [],
  };
}

function changedNames(before: Fields, after: Fields): string[] {
  return Object.keys(after).filter((name) => !Bun.deepEquals(before[name], after[name]));
}
