import { z } from "zod";
import type { EnvironmentAnswer } from "../../../http/api/environments.ts";
import { mergeSource, noSource } from "../../../http/api/pipeline-source.ts";
import type { KeysAnswer } from "../../../http/api/project-secrets.ts";
import { mergePipeline, type ProjectAnswer } from "../../../http/api/project-shape.ts";
import type { WebhookAnswer } from "../../../http/api/webhook-shape.ts";
import type { Environment } from "../../../model/environment/environment.ts";
import type { Pipeline } from "../../../model/pipeline.ts";
import { writtenPipeline } from "../../../model/pipeline-file/write-file.ts";
import { given } from "../../../model/service/given.ts";
import { firstRouteUrl } from "../../../model/service/route-place.ts";
import type { Remote } from "../remote.ts";
import { type KeyKind, type ProjectFile, type SettingName, settingShape } from "./schema.ts";

export type Fields = Record<string, unknown>;

/** What a server knows of a project, as far as a file can say it. */
export interface ProjectState {
  project: ProjectAnswer;
  webhook: WebhookAnswer;
  keys: Record<KeyKind, boolean>;
  environments: { name: string; secrets: ProjectAnswer["secrets"] }[];
}

/** The paths of the environments of a project, by name. */
export async function environmentPaths(api: Remote, path: string): Promise<Map<string, string>> {
  const { items } = await api.get<{ items: EnvironmentAnswer[] }>(`${path}/environments`);
  return new Map(items.map(({ name, projectId }) => [name, `/api/projects/${projectId}`]));
}

export async function readState(api: Remote, path: string): Promise<ProjectState> {
  const project = await api.get<ProjectAnswer>(path);
  const webhook = await api.get<WebhookAnswer>(`${path}/webhook`);
  const { notifyKeySet, statusTokenSet } = await api.get<KeysAnswer>(`${path}/keys`);
  const environments = [];
  for (const [name, place] of await environmentPaths(api, path))
    environments.push({ name, secrets: (await api.get<ProjectAnswer>(place)).secrets });
  const keys = { "notify-key": notifyKeySet, "status-token": statusTokenSet };
  return { project, webhook, keys, environments };
}

type Settings = Partial<Pick<ProjectAnswer, Exclude<SettingName, "git">>> &
  Pick<ProjectAnswer, "pipeline" | "pipelineFile"> & { git?: Partial<ProjectAnswer["git"]> };

/** The settings as a file writes them: exports and differences have this form. */
export function writtenSettings(settings: Settings): Fields {
  const names = (Object.keys(settingShape) as SettingName[]).filter((name) => settings[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, writtenSetting(settings, name)]));
}

function writtenSetting(settings: Settings, name: SettingName): unknown {
  const { pipeline, pipelineFile, publicUrl = "" } = settings;
  if (name === "publicUrl") return ownUrl(publicUrl, pipeline);
  if (name !== "pipeline") return picked(settings[name], fieldsOf(name));
  return pipelineFile === null
    ? { from: "project", ...writtenPipeline(pipeline) }
    : { from: "repository", ...pipelineFile };
}

/** The address of the first route is answered where a project has none of its own. */
function ownUrl(url: string, ...pipelines: Pipeline[]): string {
  return pipelines.some((pipeline) => firstRouteUrl(pipeline) === url) ? "" : url;
}

/** A file without the secrets of its environments, which are not settings. */
export type SettingsFile = Omit<ProjectFile, "environments"> & {
  environments?: Environment[] | undefined;
};

/** The settings that the file says, as they are after it was applied. Null: to no project yet. */
export function appliedSettings(before: ProjectAnswer | null, file: SettingsFile): Fields {
  const source = before ?? noSource;
  const after = { ...source, ...mergeSource(source, { pipeline: file.pipeline }, mergePipeline) };
  const names = (Object.keys(settingShape) as SettingName[]).filter((name) => file[name] !== undefined);
  const sent = names
    .filter((name) => name !== "pipeline")
    .map((name) => [name, fieldsOf(name) === null ? file[name] : mergedFields(before?.[name], file[name])]);
  const written = writtenSettings({
    ...(Object.fromEntries(sent) as Partial<Settings>),
    ...{ pipeline: after.pipeline, pipelineFile: after.pipelineFile },
    ...(file.publicUrl === undefined
      ? {}
      : { publicUrl: ownUrl(file.publicUrl, source.pipeline, after.pipeline) }),
  });
  // Of a new project only what the file says, not its defaults.
  if (before === null && file.pipeline)
    written.pipeline = picked(written.pipeline, Object.keys(file.pipeline));
  return picked(written, names) as Fields;
}

function mergedFields(before: unknown, sent: unknown): Fields {
  return { ...(before as Fields | undefined), ...given(sent as Fields) };
}

/** The fields of a setting that a change merges; null: it is replaced as a whole. */
function fieldsOf(name: SettingName): string[] | null {
  const schema = settingShape[name].unwrap();
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : null;
}

/** These fields of a value, in their order; null: the value itself. */
export function picked(value: unknown, names: readonly string[] | null): unknown {
  if (names === null) return value;
  const held = value as Fields;
  return Object.fromEntries(names.flatMap((name) => (held[name] === undefined ? [] : [[name, held[name]]])));
}
