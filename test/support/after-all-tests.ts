/** Runs once in each run of `bun test`, after its last file (see bunfig.toml). */
import { afterAll } from "bun:test";
import { doAtEnd } from "./at-end.ts";
import { removeTemporaryFolders } from "./temporary-folder.ts";

afterAll(async () => {
  await doAtEnd();
  removeTemporaryFolders();
}, 60_000);
