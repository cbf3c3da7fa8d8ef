/** Set in a built program (scripts/build-program.ts). */
declare const builtStoreThread: string | undefined;

/** In the compiled program a module lies below its root by the name that it has below `src`. */
const compiledStoreThread = "./app/store-thread-program.ts";

/** The program of SQLite's threads. */
export const storeThread: string | URL =
  typeof builtStoreThread === "string"
    ? builtStoreThread
    : import.meta.url.includes("/$bunfs/")
      ? compiledStoreThread
      : new URL("./store-thread-program.ts", import.meta.url);
