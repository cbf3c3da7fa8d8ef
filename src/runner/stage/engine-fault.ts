import { readFileSync } from "node:fs";
import { newReason, type Reason } from "../../reason/reason.ts";

/** Exit codes of `podman run` and `docker run` that may be theirs, and not the script's. */
const engineCodes = [125, 126, 127];

/** Why the engine could not run a container, from the end of its output, if a setting of the runner helps. */
export function engineFault(exitCode: number | null, output: string): Reason | null {
  if (exitCode === null || !engineCodes.includes(exitCode)) return null;
  if (/rlimit.*(operation not permitted|permission denied)/i.test(output))
    return newReason("container_ulimit", {
      arguments: ["nofile", "nproc"].map((name) => `--ulimit=${name}=${limitOf(name)}`).join(","),
    });
  const runtime = /(?:OCI runtime "?|invalid runtime name: )([\w./-]+)"?(?: not found|$)/im.exec(output)?.[1];
  if (runtime !== undefined) return newReason("container_runtime_missing", { runtime });
  return null;
}

const limitNames: Readonly<Record<string, string>> = { nofile: "Max open files", nproc: "Max processes" };
/** Enough for builds, where the machine does not say what it allows. */
const usualLimit = 4096;

/** The most that this process may grant, as `soft:hard`. */
function limitOf(name: string): string {
  const line = textOf("/proc/self/limits")
    .split("\n")
    .find((each) => each.startsWith(limitNames[name] ?? ""));
  const hard = Number(/(\d+)\s+\S+\s*$/.exec(line ?? "")?.[1] ?? usualLimit);
  return `${hard}:${hard}`;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
