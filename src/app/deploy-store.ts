import { join } from "node:path";
import type { Config } from "../config/config.ts";
import type { Store } from "../model/store.ts";
import { openOwnStore } from "../store/database.ts";
import type { AppContext } from "./app-context.ts";

/** Set in a built (scripts/build-program.ts) and in a compiled program (scripts/compile.ts). */
declare const builtStoreThread: string | undefined;

/** The program of SQLite's threads. */
export const storeThread: string | URL =
  typeof builtStoreThread === "string"
    ? builtStoreThread
    : new URL("./store-thread-program.ts", import.meta.url);

export function databaseUrlOf(config: Config): string {
  return config["database.url"] ?? `sqlite:${join(config["data.dir"], "slipway.db")}`;
}

/** The store of a deploy service. */
export function openServerStore({ config, log, clock }: AppContext): Promise<Store> {
  return openOwnStore("server", {
    url: databaseUrlOf(config),
    poolSize: config["database.poolSize"],
    log,
    clock,
    threadProgram: storeThread,
  });
}
