/**
 * Makes the whole product one executable file, console included:
 *
 *   npm run compile                               dist/slipway, for this machine
 *   npm run compile -- --target bun-linux-arm64   for another; the names are those of `bun build --target`
 *   npm run compile -- --out elsewhere            into another folder
 */
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { currentCommit, nativeTarget, root, writeExecutable } from "./executable.ts";

const { values } = parseArgs({ options: { target: { type: "string" }, out: { type: "string" } } });
const target = values.target as Bun.Build.CompileTarget | undefined;
const folder = resolve(values.out ?? join(root, "dist"));
const file = join(folder, target?.includes("windows") ? "slipway.exe" : "slipway");
const build = { commit: currentCommit(), target: target?.replace(/^bun-/, "") ?? nativeTarget };
await writeExecutable({ file, build, ...(target ? { target } : {}) });
console.log(`${file}: ${(statSync(file).size / 1024 ** 2).toFixed(0)} MiB`);
