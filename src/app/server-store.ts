import type { Store } from "../model/store.ts";
import { openOwnStore } from "../store/database.ts";
import type { AppContext } from "./app-context.ts";
import { databaseUrlOf } from "./database-url.ts";
import { storeThread } from "./store-thread.ts";

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
