import { newReason, type Reason } from "../../reason/reason.ts";
import { ownPathOf } from "../stage/script-environment.ts";

/** Caddy 2.8 can add to its access log and reads files in addresses. */
const oldest = { major: 2, minor: 8 };
const oldestText = `${oldest.major}.${oldest.minor}`;

/** The program of Caddy, or why there is none that can be used. */
export function findCaddyProgram(
  setting: string | undefined,
  own: Record<string, string | undefined>,
): { program: string } | { lack: Reason } {
  const program = Bun.which(setting ?? "caddy", { PATH: ownPathOf(own) });
  if (program === null)
    return {
      lack:
        setting === undefined
          ? newReason("caddy_missing", { oldest: oldestText })
          : newReason("caddy_not_found", { program: setting }),
    };
  const version = versionOf(program);
  const [, major = 0, minor = 0] = (/^v?(\d+)\.(\d+)\./.exec(version) ?? []).map(Number);
  const isOld = major < oldest.major || (major === oldest.major && minor < oldest.minor);
  return isOld
    ? { lack: newReason("caddy_old", { program, version: version || "?", oldest: oldestText }) }
    : { program };
}

function versionOf(program: string): string {
  try {
    const asked = Bun.spawnSync([program, "version"], { env: {}, stderr: "ignore", timeout: 10_000 });
    return asked.stdout.toString().trim().split(" ")[0] ?? "";
  } catch {
    return "";
  }
}
