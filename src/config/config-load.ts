import { existsSync } from "node:fs";
import { messageOf } from "../errors.ts";
import { hostAndPort } from "../listen-address.ts";
import { nearest } from "../nearest-name.ts";
import {
  type Config,
  environmentName,
  flagName,
  isSettingKey,
  type SettingKey,
  settingKeys,
  settings,
} from "./config.ts";
import { removedSettings } from "./removed-settings.ts";
import type { Kind, Reading } from "./setting-kinds.ts";
import { insecureProvider } from "./sign-in-settings.ts";
import { standardVariables } from "./telemetry-settings.ts";

/** `config print` shows this in place of a secret. It is not accepted as a secret. */
const mask = "********";

export interface ConfigSources {
  /** Path of slipway.yaml; `required` when the user named it. */
  file?: { path: string; required: boolean };
  env: Record<string, string | undefined>;
  /** Setting key → text, from the command line; a key may be one of a removed setting. */
  flags: Record<string, string>;
}

/** A problem with one setting; the message says how to solve it. */
export interface ConfigFault {
  key: string;
  source: string;
  message: string;
}

export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly faults: ConfigFault[];
  constructor(faults: ConfigFault[]) {
    super(faults.map((fault) => `${fault.key} (${fault.source}): ${fault.message}`).join("\n"));
    this.faults = faults;
  }
}

/** Reads file, environment and flags, of which the later ones win. Throws a ConfigError with all mistakes. */
export async function loadConfig(sources: ConfigSources): Promise<Config> {
  const faults: ConfigFault[] = [];
  const given = new Map<SettingKey, { raw: unknown; source: string }>();
  const source = sources.file?.path ?? "file";
  for (const [key, raw] of await readFile(sources.file, faults)) {
    if (!isSettingKey(key))
      faults.push({
        key,
        source,
        message: removedSettings[key] ?? `is no setting${suggestion(key, settingKeys)}`,
      });
    else if (given.has(key))
      faults.push({ key, source, message: "is there twice, nested and dotted; remove one" });
    else given.set(key, { raw, source });
  }
  readEnvironment(sources.env, given, faults);
  for (const [key, raw] of Object.entries(sources.flags)) {
    const removed = removedSettings[key];
    if (removed) faults.push({ key, source: `--${flagName(key)}`, message: removed });
    if (isSettingKey(key) && raw !== undefined) given.set(key, { raw, source: `--${flagName(key)}` });
  }

  const values: Record<string, unknown> = {};
  const origins = new Map<SettingKey, string>();
  for (const key of settingKeys) {
    const stated = given.get(key);
    // An empty value in a file or in the environment means: not set.
    const isStated = stated && stated.raw !== null && stated.raw !== undefined && stated.raw !== "";
    const entry = isStated
      ? stated
      : (standardValue(key, sources.env) ?? { raw: settings[key].default, source: "default" });
    origins.set(key, entry.source);
    if (entry.raw === undefined) {
      values[key] = undefined;
      continue;
    }
    const reading = read(key, entry.raw);
    if ("value" in reading) values[key] = reading.value;
    else
      faults.push({
        key,
        source: entry.source,
        message: `${describeValue(key, entry.raw)} ${describeFault(key, reading)}`,
      });
  }
  const wrong = new Set(faults.map(({ key }) => key));
  faults.push(...contradictions({ ...configOf(), ...values } as Config, wrong));
  if (faults.length > 0) throw new ConfigError(faults);
  const file = sources.file && existsSync(sources.file.path) ? sources.file.path : null;
  loadedFrom.set(values, { origins, file });
  return values as Config;
}

/** Where the values of a loaded configuration come from. A worker and a test get a configuration without sources. */
const loadedFrom = new WeakMap<object, { origins: ReadonlyMap<SettingKey, string>; file: string | null }>();

/** The settings file of a loaded configuration; null: there is none. */
export function settingsFileOf(config: Config): string | null {
  return loadedFrom.get(config)?.file ?? null;
}

export interface EffectiveSetting {
  key: SettingKey;
  /** As in slipway.yaml; a secret is masked. */
  value: string;
  /** `default`, the path of the file, the name of the variable or of the flag; null: not known. */
  source: string | null;
}

/** Every setting as it is used. */
export function effectiveSettings(config: Config): EffectiveSetting[] {
  const origins = loadedFrom.get(config)?.origins;
  return settingKeys.map((key) => ({
    key,
    value: written(key, config[key]),
    source: origins?.get(key) ?? null,
  }));
}

function read(key: SettingKey, raw: unknown): Reading<unknown> {
  if (!settings[key].secret || raw !== mask) return settings[key].kind.read(raw);
  return {
    wrong: `is only the mask that \`config print\` shows; write the secret itself, or leave it out and set ${environmentName(key)}`,
  };
}

/** A configuration of defaults with some values replaced, already in their read form: for tests and tools. */
export function configOf(values: Partial<Config> = {}): Config {
  const config: Record<string, unknown> = {};
  for (const key of settingKeys) {
    const fallback = settings[key].default;
    const reading = fallback === undefined ? { value: undefined } : settings[key].kind.read(fallback);
    config[key] = "value" in reading ? reading.value : undefined;
  }
  return { ...(config as Config), ...values };
}

/** Rules that tie several settings together. */
function contradictions(config: Config, wrong: ReadonlySet<string>): ConfigFault[] {
  const faults: ConfigFault[] = [];
  /** Skips rules about settings that are invalid themselves. */
  const fault = (key: SettingKey, message: string, other: SettingKey = key) => {
    if (!wrong.has(key) && !wrong.has(other)) faults.push({ key, source: "settings", message });
  };
  if (config["push.ping-interval"] >= config["push.pong-timeout"])
    fault(
      "push.ping-interval",
      "must be shorter than push.pong-timeout, or every connection would time out",
      "push.pong-timeout",
    );
  if (Buffer.byteLength(config["push.heartbeat-content"]) > 125)
    fault("push.heartbeat-content", "must be at most 125 bytes, the limit of a WebSocket ping");
  if (config["push.cluster-enabled"] && !config["push.queue.url"])
    fault("push.cluster-enabled", "needs push.queue.url (amqp://… or kafka://…)", "push.queue.url");
  if (config["push.queue-client-messages"] && !config["push.queue.url"])
    fault("push.queue-client-messages", "needs push.queue.url (amqp://… or kafka://…)", "push.queue.url");
  if (config["auth.local"] === "admins" && config["auth.providers"].length === 0)
    fault("auth.local", "needs auth.providers, or only administrators could sign in", "auth.providers");
  for (const provider of config["auth.providers"]) {
    const reason = insecureProvider(provider, config["hosts.trusted"]);
    if (reason !== null) fault("auth.providers", reason, "hosts.trusted");
  }
  const databaseUrl = config["database.url"];
  if (databaseUrl && !/^(sqlite:|postgres(ql)?:\/\/)/.test(databaseUrl))
    fault("database.url", "must start with sqlite: or postgres://");
  return faults;
}

/** The settings of the file by key, as they are written there. */
async function readFile(file: ConfigSources["file"], faults: ConfigFault[]): Promise<[string, unknown][]> {
  if (!file || (!file.required && !existsSync(file.path))) return [];
  try {
    // Imported only here: without a settings file the start is faster.
    const { settingsOfFile } = await import("./settings-file.ts");
    return settingsOfFile(file.path);
  } catch (error) {
    faults.push({ key: file.path, source: "file", message: messageOf(error) });
    return [];
  }
}

/** Variables with our prefix that are not settings. */
const otherVariables = new Set([
  "SLIPWAY_CONFIG",
  "SLIPWAY_ADMIN_PASSWORD",
  "SLIPWAY_URL",
  "SLIPWAY_TOKEN",
  "SLIPWAY_API_KEY",
]);

function readEnvironment(
  env: ConfigSources["env"],
  given: Map<SettingKey, { raw: unknown; source: string }>,
  faults: ConfigFault[],
): void {
  const keyByName = new Map(settingKeys.map((key) => [environmentName(key), key]));
  const removedByName = new Map(
    Object.entries(removedSettings).map(([key, message]) => [environmentName(key), message]),
  );
  for (const [name, raw] of Object.entries(env)) {
    if (
      !name.startsWith("SLIPWAY_") ||
      otherVariables.has(name) ||
      name.startsWith("SLIPWAY_TEST_") ||
      raw === undefined
    )
      continue;
    const key = keyByName.get(name);
    if (key) given.set(key, { raw, source: name });
    else
      faults.push({
        key: name,
        source: "environment",
        message: removedByName.get(name) ?? `is no setting${suggestion(name, keyByName.keys())}`,
      });
  }
  if (env.PORT !== undefined && env.PORT !== "") {
    // If the address is invalid, that mistake is reported instead.
    const { kind, default: unset } = settings["server.listen"];
    const address = kind.read(given.get("server.listen")?.raw ?? unset);
    if ("value" in address)
      given.set("server.listen", { raw: hostAndPort(address.value.host, env.PORT), source: "PORT" });
  }
}

/** Null: there is none. A value that is invalid here, such as an address for gRPC, is meant for other programs. */
function standardValue(key: SettingKey, env: ConfigSources["env"]): { raw: string; source: string } | null {
  const name = standardVariables[key];
  const raw = name && env[name];
  return name && raw && "value" in settings[key].kind.read(raw) ? { raw, source: name } : null;
}

function describeValue(key: SettingKey, raw: unknown): string {
  return settings[key].secret ? "(value hidden)" : JSON.stringify(raw);
}

function describeFault(key: SettingKey, fault: { wrong: string; entry?: unknown }): string {
  if (!("entry" in fault)) return fault.wrong;
  if (settings[key].secret) return `has an entry that ${fault.wrong}`;
  return `has the entry ${JSON.stringify(fault.entry)}, which ${fault.wrong}`;
}

function suggestion(name: string, candidates: Iterable<string>): string {
  const meant = nearest(name, candidates);
  return meant ? `; did you mean ${meant}?` : "; see docs/configuration.md";
}

/** The configuration as YAML that can be loaded again, with secrets masked. */
export function printConfig(config: Config): string {
  const lines = settingKeys.map((key) => `${key}: ${written(key, config[key])}`);
  return `${lines.join("\n")}\n`;
}

function written(key: SettingKey, value: unknown): string {
  const kind: Kind<unknown> = settings[key].kind;
  if (value === undefined) return "null";
  if (Array.isArray(value) && value.length === 0) return "[]";
  return JSON.stringify(settings[key].secret ? mask : (kind.write?.(value) ?? value));
}
