import type { Command } from "commander";
import { ConfigError, printConfig } from "../config/config-load.ts";
import { configurationPage } from "../config/configuration-page.ts";
import { print } from "./output.ts";
import { addSettings, configFrom } from "./settings-options.ts";

/** `config check`, `config print` and `config docs`. */
export function addConfigCommands(program: Command): void {
  const config = program.command("config").description("settings");
  addSettings(config.command("check"))
    .description("report every mistake in file, environment and flags; exit code 2 if there is one")
    .option("--json", "print JSON")
    .action(async (options: Record<string, unknown>) => {
      try {
        const [config, { queueFaults }, { jwtFaults }] = await Promise.all([
          configFrom(options),
          import("../app/buses.ts"),
          import("../app/codes/jwt-codes.ts"),
        ]);
        const faults = [...(await queueFaults(config)), ...(await jwtFaults(config))];
        if (faults.length > 0) throw new ConfigError(faults);
      } catch (error) {
        if (options.json && error instanceof ConfigError)
          print(options, { ok: false, faults: error.faults }, String);
        throw error;
      }
      print(options, { ok: true }, () => "The settings are right.");
    });
  addSettings(config.command("print"))
    .description("print the settings in force, secrets masked")
    .option("--json", "print JSON")
    .action(async (options: Record<string, unknown>) => {
      const yaml = printConfig(await configFrom(options));
      print(options, Bun.YAML.parse(yaml), () => yaml.trimEnd());
    });
  config
    .command("docs")
    .description("print docs/configuration.md")
    .action(() => {
      process.stdout.write(configurationPage());
    });
}
