import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "./temporary-folder.ts";

/**
 * Put before a command: it runs on this machine as if these programs and this account were missing, in a mount namespace.
 * Needs root.
 */
export function machineWithout(programs: string[], account?: string): string[] {
  const found = programs.map((name) => Bun.which(name)).filter((path) => path !== null);
  const hidden: [source: string, target: string][] = found.map((path) => ["/dev/null", path]);
  if (account !== undefined) hidden.push([accountsWithout(account), "/etc/passwd"]);
  const mounts = hidden.map(([source, target]) => `mount --bind '${source}' "$(realpath '${target}')" && `);
  return ["unshare", "--mount", "sh", "-c", `${mounts.join("")} exec "$@"`, "sh"];
}

function accountsWithout(name: string): string {
  const file = join(temporaryFolder("accounts"), "passwd");
  const lines = readFileSync("/etc/passwd", "utf8").split("\n");
  writeFileSync(file, lines.filter((line) => !line.startsWith(`${name}:`)).join("\n"));
  return file;
}
