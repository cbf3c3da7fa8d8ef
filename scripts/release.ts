/**
 * Makes everything that a release consists of:
 *
 *   npm run release                     dist/release
 *   npm run release -- --out elsewhere  into another folder
 *   npm run release -- --only linux-x64 the executable of one system, and what belongs to every release
 *
 * Two builds of one commit have the same checksums, in whatever folder and at whatever time. Executables of other systems
 * are made with the runtime's package of the registry. Tests run those of linux-x64 and, emulated, of linux-arm64; the
 * others are built, not run.
 */
import { readdirSync, statSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import manifest from "../package.json" with { type: "json" };
import { pipelineFileSchema } from "../src/model/pipeline-file/file-json-schema.ts";
import { buildClient } from "./build-client.ts";
import { currentCommit, nativeTarget, root, writeExecutable } from "./executable.ts";
import { manualFiles } from "./manual-files.ts";
import { billOfMaterials, licenceTexts } from "./release-contents.ts";
import { writeChart, writeJavaClient, writePythonClient } from "./release-packages.ts";
import { tarOf } from "./tar.ts";

/** The systems with an executable, and the package of their runtime. */
const systems: Record<string, string> = {
  "linux-x64": "bun-linux-x64",
  "linux-x64-musl": "bun-linux-x64-musl",
  "linux-arm64": "bun-linux-aarch64",
  "linux-arm64-musl": "bun-linux-aarch64-musl",
  "darwin-arm64": "bun-darwin-aarch64",
  "windows-x64": "bun-windows-x64",
};

const { values } = parseArgs({
  options: { out: { type: "string" }, only: { type: "string", multiple: true } },
});
const folder = resolve(values.out ?? join(root, "dist/release"));
const wanted = values.only ?? Object.keys(systems);
const unknown = wanted.filter((name) => systems[name] === undefined);
if (unknown.length > 0)
  fail(`There is no system ${unknown.join(", ")}; there are ${Object.keys(systems).join(", ")}.`);
const commit = currentCommit();
if (commit.endsWith("-changed")) fail("There are uncommitted changes: a release is made of a commit.");

const { version } = manifest;
await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
for (const name of wanted) await writeSystem(name);
const timeSeconds = Number(run(["git", "log", "-1", "--format=%ct"]));
await writeFile(join(folder, "sbom.cdx.json"), billOfMaterials(new Date(timeSeconds * 1000).toISOString()));
await writeFile(join(folder, "LICENCES.txt"), licenceTexts());
const schema = JSON.stringify(pipelineFileSchema(), null, 2);
await writeFile(join(folder, "pipeline-schema.json"), `${schema}\n`);
await writeFile(join(folder, "CHANGELOG.md"), await changesOfVersion());
await writePackages();
await writeManual();
// For images and compose files, whose build context is this folder. Only committed files: a checkout may have secrets.
for (const name of run(["git", "ls-files", "deploy"]).split("\n"))
  await cp(join(root, name), join(folder, name));
await writeChecksums();
for (const name of files())
  console.log(`${name}: ${(statSync(join(folder, name)).size / 1024 ** 2).toFixed(1)} MiB`);

async function writeSystem(name: string): Promise<void> {
  const file = join(folder, `slipway-${version}-${name}${name.startsWith("windows") ? ".exe" : ""}`);
  const build = { commit, target: name };
  if (name === nativeTarget) return writeExecutable({ file, build });
  const runtime = await runtimeOf(systems[name] ?? "", name.startsWith("windows") ? "bun.exe" : "bun");
  await writeExecutable({ file, build, target: `bun-${name}` as Bun.Build.CompileTarget, runtime });
}

/** The runtime of another system, in the version of the runtime that runs this script. */
async function runtimeOf(name: string, program: string): Promise<string> {
  const prefix = join(root, ".cache/runtimes", Bun.version, name);
  const file = join(prefix, "node_modules/@oven", name, "bin", program);
  if (await Bun.file(file).exists()) return file;
  await mkdir(prefix, { recursive: true });
  const options = ["--no-save", "--force", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
  run(["npm", "install", "--prefix", prefix, ...options, `@oven/${name}@${Bun.version}`]);
  return file;
}

/** The chart, and the packages of the clients. */
async function writePackages(): Promise<void> {
  const temporary = await mkdtemp(join(tmpdir(), "slipway-packages-"));
  const npmPackage = join(temporary, "npm");
  await buildClient(npmPackage);
  run(["npm", "pack", "--silent", "--pack-destination", folder], npmPackage);
  const packaging = { version, timeSeconds, folder, temporary, run };
  writeChart(packaging);
  writePythonClient(packaging);
  writeJavaClient(packaging);
  await rm(temporary, { recursive: true });
}

/** The site of the manual, in the folder of its version. */
async function writeManual(): Promise<void> {
  const files = (await manualFiles()).map(({ path, bytes }) => ({ name: `${version}/${path}`, bytes }));
  const archive = Bun.gzipSync(tarOf(files, timeSeconds));
  await writeFile(join(folder, `slipway-manual-${version}.tgz`), archive);
}

/** The part of the changelog that is about this version. */
async function changesOfVersion(): Promise<string> {
  const [, ...sections] = (await readFile(join(root, "CHANGELOG.md"), "utf8")).split(/^(?=## )/m);
  const isOfVersion = (section: string) => section.startsWith(`## ${version}`);
  return sections.find(isOfVersion) ?? sections[0] ?? "";
}

async function writeChecksums(): Promise<void> {
  const lines = [];
  for (const name of files()) {
    const hash = new Bun.CryptoHasher("sha256").update(await readFile(join(folder, name))).digest("hex");
    lines.push(`${hash}  ${name}\n`);
  }
  await writeFile(join(folder, "SHA256SUMS"), lines.join(""));
}

/** Everything that was written, as paths in the folder. */
function files(): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

function run(command: string[], cwd = root, env: Record<string, string> = {}): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd, env: { ...process.env, ...env } });
  if (exitCode !== 0) fail(`${command.join(" ")} failed: ${stderr.toString()}`);
  return stdout.toString().trim();
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
