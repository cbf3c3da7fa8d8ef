/** In the compiled program a module lies below its root by the name that it has below `src`. */
export const storeThread: string | URL = import.meta.url.includes("/$bunfs/")
  ? "./app/store-thread-program.ts"
  : new URL("./store-thread-program.ts", import.meta.url);
