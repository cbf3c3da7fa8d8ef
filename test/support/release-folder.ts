import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { serviceUrl } from "./services.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const root = join(import.meta.dir, "../..");

/** The name of this machine's executable in a release. */
export const executableName = `slipway-${manifest.version}-linux-x64`;

/** A build of the wheel fetches its builder. */
export const releaseWithinMs = 5 * 60_000;

let first: Promise<string> | undefined;

/** A release of the last commit, made once in a run of tests. */
export function releaseFolder(): Promise<string> {
  first ??= makeRelease(join(temporaryFolder("release"), "first"));
  return first;
}

/** Makes a release of the last commit in a clone of this repository; answers its folder. */
export async function makeRelease(folder: string): Promise<string> {
  await outputOf(["git", "clone", "-q", "--shared", root, folder]);
  // Links save space, and are not possible between two disks.
  await outputOf(
    ["sh", "-c", 'cp -al "$0/node_modules" . 2>/dev/null || cp -a "$0/node_modules" .', root],
    folder,
  );
  // Python and Java make the packages of their clients.
  await Promise.all([serviceUrl("python"), serviceUrl("javac")]);
  const out = join(folder, "dist/release");
  const systems = ["--only", "linux-x64", "--only", "linux-arm64"];
  await outputOf([process.execPath, "scripts/release.ts", ...systems, "--out", out], folder);
  return out;
}

/** What a command prints; it must succeed. */
export async function outputOf(command: string[], cwd = root): Promise<string> {
  const child = Bun.spawn(command, { cwd, stdout: "pipe", stderr: "pipe" });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed:\n${errors}`);
  return output;
}
