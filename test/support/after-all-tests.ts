/** Runs once in each run of `bun test`, after its last file (see bunfig.toml). */
import { afterAll } from "bun:test";
import { removeTemporaryFolders } from "./temporary-folder.ts";

afterAll(removeTemporaryFolders);
