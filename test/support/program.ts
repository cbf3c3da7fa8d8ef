import { join } from "node:path";

/** The program as users start it: the built one, or the sources if they have changed since it was built. */
export const main = join(import.meta.dir, "../../src/launch/launch.ts");
