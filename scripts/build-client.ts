/**
 * Makes the folder that is published as the npm package `slipway-push`:
 *
 *   bun scripts/build-client.ts            dist/slipway-push
 *   bun scripts/build-client.ts elsewhere  another folder
 */
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

const root = join(import.meta.dir, "..");
const source = join(root, "client");
const entries = ["slipway-push.ts", "react.ts", "wechat.ts"].map((name) => join(source, name));

/** Writes the package into this folder, which is emptied first. */
export async function buildClient(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await Bun.build({ entrypoints: entries, outdir: folder, target: "browser", external: ["react"] });
  await writeDeclarations(folder);
  for (const name of ["package.json", "README.md"]) await copyFile(join(source, name), join(folder, name));
  await copyFile(join(root, "LICENSE"), join(folder, "LICENSE"));
}

async function writeDeclarations(folder: string): Promise<void> {
  const options = ["--declaration", "--emitDeclarationOnly", "--noEmit", "false", "--incremental", "false"];
  const compiler = [join(root, "node_modules/.bin/tsc"), "--ignoreConfig", ...options];
  const language = [
    "--target",
    "ESNext",
    "--module",
    "Preserve",
    "--moduleResolution",
    "bundler",
    "--strict",
  ];
  const more = ["--allowImportingTsExtensions", "--skipLibCheck", "--types", "", "--outDir", folder];
  const child = Bun.spawn([...compiler, ...language, ...more, ...entries], { cwd: root, stdout: "pipe" });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`The declarations could not be written: ${output}`);
  // A published declaration imports the declaration of `./x.js`.
  for (const name of await readdir(folder)) {
    if (!name.endsWith(".d.ts")) continue;
    const text = await readFile(join(folder, name), "utf8");
    await writeFile(join(folder, name), text.replaceAll(/(from "\.\/[\w-]+)\.ts"/g, '$1.js"'));
  }
}

if (import.meta.main) {
  const folder = resolve(process.argv[2] ?? join(root, "dist/slipway-push"));
  await buildClient(folder);
  console.log(`${folder}: the package slipway-push`);
}
