/** Servers in the process of a test run SQLite's threads from the built program, which starts in half the time (see bunfig.toml). */
import { dirname, join } from "node:path";
import { currentProgram } from "../../src/launch/built-program.ts";

const program = currentProgram();
if (program !== null)
  Object.assign(globalThis, { builtStoreThread: join(dirname(program), "app/store-thread-program.js") });
