import { join } from "node:path";
import type { Config } from "../config/config.ts";

export function databaseUrlOf(config: Config): string {
  return config["database.url"] ?? `sqlite:${join(config["data.dir"], "slipway.db")}`;
}
