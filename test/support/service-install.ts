import { existsSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** A service is not available on this machine; the message says how to get it. */
export class ServiceUnavailable extends Error {
  override readonly name = "ServiceUnavailable";
}

/** What tests install is kept there, for all checkouts of the user. */
export function serviceCache(): string {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "slipway");
}

/** Reports long steps. */
export function progress(message: string): void {
  process.stderr.write(`services: ${message}\n`);
}

/** Runs a command; false when it failed, after printing the end of its output. */
export async function run(
  command: string[],
  options: { cwd?: string; uid?: number; gid?: number; env?: Record<string, string>; quiet?: boolean } = {},
): Promise<boolean> {
  const { quiet, env, ...place } = options;
  const child = Bun.spawn(command, {
    ...place,
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0 && !quiet) progress(`${command.join(" ")} failed:\n${(out + err).slice(-2_000)}`);
  return code === 0;
}

const startPolicy = "/usr/sbin/policy-rc.d";

/** Keeps Debian from starting the servers that it installs: tests start their own. */
async function startingNothing<T>(install: () => Promise<T>): Promise<T> {
  if (existsSync(startPolicy)) return install();
  writeFileSync(startPolicy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    return await install();
  } finally {
    rmSync(startPolicy, { force: true });
  }
}

let aptQueue: Promise<unknown> = Promise.resolve();
let listsAreFresh: Promise<boolean> | undefined;

/** Installs Debian packages as root; false where that is not possible. One apt-get at a time: it locks. */
export function installPackages(...packages: string[]): Promise<boolean> {
  const result = aptQueue.then(async () => {
    if (!Bun.which("apt-get") || process.getuid?.() !== 0) return false;
    listsAreFresh ??= run(["apt-get", "update"]);
    await listsAreFresh;
    progress(`apt-get install ${packages.join(" ")} (some minutes)`);
    return startingNothing(() =>
      run([
        "apt-get",
        "-o",
        "DPkg::Lock::Timeout=300",
        "install",
        "-y",
        "--no-install-recommends",
        ...packages,
      ]),
    );
  });
  aptQueue = result.catch(() => false);
  return result;
}

/** The path of a program, which is installed if it is missing. */
export async function findExecutable(name: string, packageName: string, variable: string): Promise<string> {
  const find = () => Bun.which(name) ?? [`/usr/sbin/${name}`].find((path) => existsSync(path));
  const found = find() ?? ((await installPackages(packageName)) ? find() : undefined);
  if (found) return found;
  throw new ServiceUnavailable(
    `${name} is not installed: install the package \`${packageName}\`, or set ${variable} to an executable.`,
  );
}
