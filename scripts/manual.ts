/**
 * Writes the manual as a site of files, for any web server:
 *
 *   bun scripts/manual.ts                    dist/manual/<version>
 *   bun scripts/manual.ts --out elsewhere    into another folder
 *
 * Folders of earlier versions beside it stay, and `versions.json` lists all of them: each manual offers the others.
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./executable.ts";
import { writeManual } from "./manual-files.ts";

const { values } = parseArgs({ options: { out: { type: "string" } } });
console.log(await writeManual(resolve(values.out ?? `${root}/dist/manual`)));
