/**
 * Installs the packages of a fresh clone, and builds the program. Written for plain Node, because it runs before anything is installed. Leaves a
 * copy of the lock file in node_modules, so that bin/slipway need not start Node again.
 *
 *   node scripts/setup.mjs          what the program needs
 *   node scripts/setup.mjs --dev    what the checks and tests need too
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, lstatSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(fileURLToPath(import.meta.url), "../..");
const needsDev = process.argv.includes("--dev");

const missing = missingPackages();
if (missing.length > 0 && isLinked()) {
  process.stderr.write(
    "setup: packages are missing, and node_modules is a link: run npm install where it points to.\n",
  );
} else if (missing.length > 0) {
  const shown = missing.length > 3 ? `${missing.length} packages` : missing.join(", ");
  process.stderr.write(`setup: installing ${shown} (a quarter of a minute, once)\n`);
  installPackages();
}
if (!hasBunBinary()) linkBunBinary();
markComplete();
if (!needsDev) buildProgram();

/** Packages of the lock file that are not installed, or in another version. */
function missingPackages() {
  const wanted = packagesOf("package-lock.json");
  const installed = packagesOf("node_modules/.package-lock.json");
  return Object.entries(wanted)
    .filter(([path, entry]) => path !== "" && !entry.optional && !entry.peer && (needsDev || !entry.dev))
    .filter(([path, entry]) => installed[path]?.version !== entry.version)
    .map(([path]) => path.replace("node_modules/", ""));
}

/** npm would delete the contents of a linked folder, which other checkouts may use. */
function isLinked() {
  return lstatSync(join(root, "node_modules"), { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

function packagesOf(lockFile) {
  try {
    return JSON.parse(readFileSync(join(root, lockFile), "utf8")).packages ?? {};
  } catch (error) {
    if (error.code === "ENOENT") return {};
    throw error;
  }
}

function installPackages() {
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error", ...(needsDev ? ["--include=dev"] : [])];
  // `npm ci` fails if a registry lacks packages of other platforms; `npm install` still installs the locked versions.
  if (npm(["ci", ...quiet]) || npm(["install", "--no-save", ...quiet])) return;
  process.stderr.write("setup: npm could not install the packages; see its message above.\n");
  process.exit(1);
}

function npm(args) {
  // npm's output goes to stderr, so that stdout stays the program's own.
  const result = spawnSync("npm", args, { cwd: root, stdio: ["ignore", 2, 2] });
  if (result.error) process.stderr.write(`setup: npm cannot be run: ${result.error.message}\n`);
  return result.status === 0;
}

/** Without the right to write there, the packages are checked again at every start. */
function markComplete() {
  if (missingPackages().length > 0 || isLinked()) return;
  try {
    copyFileSync(join(root, "package-lock.json"), join(root, "node_modules/.slipway-lock.json"));
  } catch (error) {
    if (!["EACCES", "EPERM", "EROFS"].includes(error.code)) throw error;
  }
}

/** Makes the next starts fast; without it, the program runs from its sources. */
function buildProgram() {
  const script = "scripts/build-program.ts";
  if (existsSync(join(root, script)))
    spawnSync(join(root, "node_modules/bun/bin/bun.exe"), [script], {
      cwd: root,
      stdio: "ignore",
      timeout: 60_000,
    });
}

/** If npm runs no install scripts, the package contains a small placeholder instead of the binary. */
function hasBunBinary() {
  const placeholderMaxBytes = 1_000_000;
  try {
    return statSync(join(root, "node_modules/bun/bin/bun.exe")).size > placeholderMaxBytes;
  } catch {
    return false;
  }
}

function linkBunBinary() {
  const result = spawnSync(process.execPath, ["install.js"], {
    cwd: join(root, "node_modules/bun"),
    stdio: ["ignore", 2, 2],
  });
  if (result.status === 0 && hasBunBinary()) return;
  process.stderr.write(
    "setup: Bun's binary is missing. Run `node install.js` in node_modules/bun and try again.\n",
  );
  process.exit(1);
}
