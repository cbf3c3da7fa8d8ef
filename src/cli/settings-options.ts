import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Command, Option } from "commander";
import { type Config, flagName, type SettingKey, settingKeys, settings } from "../config/config.ts";
import { ConfigError, loadConfig } from "../config/config-load.ts";
import { removedSettings } from "../config/removed-settings.ts";
import { boolean } from "../config/setting-kinds.ts";

const defaultFile = "slipway.yaml";

/** Shown in --help. The other settings are flags too, but a list of seventy would be unreadable. */
const prominent = new Set<SettingKey>(["server.listen", "server.baseUrl", "data.dir", "database.url"]);

/** Every setting as a flag, and --config. */
export function addSettings(command: Command): Command {
  command.option("--config <file>", `settings file (SLIPWAY_CONFIG; ${defaultFile} when it exists)`);
  for (const key of settingKeys) {
    const isSwitch = settings[key].kind === boolean;
    const value = isSwitch ? "[value]" : "<value>";
    const option = new Option(`--${flagName(key)} ${value}`, settings[key].meaning);
    if (isSwitch) option.preset("true");
    command.addOption(prominent.has(key) ? option : option.hideHelp());
  }
  // Accepted, so that loading the settings says what to write instead.
  for (const key of Object.keys(removedSettings))
    command.addOption(new Option(`--${flagName(key)} [value]`).preset("true").hideHelp());
  return command.addHelpText(
    "after",
    `\nEvery setting of docs/configuration.md is a flag (--${flagName("push.max-connections")}), a variable\n` +
      "(SLIPWAY_PUSH_MAX_CONNECTIONS) and a key of the settings file; flags win over variables over the file.",
  );
}

export async function configFrom(options: Record<string, unknown>): Promise<Config> {
  return settingsReader(options)();
}

/** Reads the settings, and each later time again: the same flags and variables, and the file as it is then. */
export function settingsReader(options: Record<string, unknown>): () => Promise<Config> {
  // An empty variable means: not set, as with settings.
  const named = typeof options.config === "string" ? options.config : process.env.SLIPWAY_CONFIG || undefined;
  const flags: Record<string, string> = {};
  for (const key of [...settingKeys, ...Object.keys(removedSettings)]) {
    const value = options[camelCase(flagName(key))];
    if (typeof value === "string") flags[key] = value;
  }
  const file = { path: named ?? defaultFile, required: named !== undefined };
  // A copy: secrets in the memory of the environment are erased after the start.
  const env = { ...process.env };
  return async () => {
    const config = await loadConfig({ file, env, flags });
    // A local runner gets the settings of its server, which may have read this very file.
    if (named === undefined && options.local === undefined)
      refuseUnreadFile(join(config["data.dir"], defaultFile));
    return config;
  };
}

/** Images of version 1 ran in the data folder and read this file, which must not lose its effect unnoticed. */
function refuseUnreadFile(path: string): void {
  if (resolve(path) === resolve(defaultFile) || !existsSync(path)) return;
  const message =
    "exists and is not read, because scripts may be able to write it: move it to a folder of its own and name it with --config or SLIPWAY_CONFIG";
  throw new ConfigError([{ key: path, source: "data.dir", message }]);
}

/** As commander names the attribute of a flag. */
function camelCase(flag: string): string {
  return flag.replaceAll(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
