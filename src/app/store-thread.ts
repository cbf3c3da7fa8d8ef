/** Set in a built (scripts/build-program.ts) and in a compiled program (scripts/compile.ts). */
declare const builtStoreThread: string | undefined;

/** The program of SQLite's threads. */
export const storeThread: string | URL =
  typeof builtStoreThread === "string"
    ? builtStoreThread
    : new URL("./store-thread-program.ts", import.meta.url);
