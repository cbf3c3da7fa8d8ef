import type { GroupResult } from "./test-groups.ts";

export interface Check {
  name: string;
  command: string[];
  /** Command to run if it fails. */
  remedy: string;
}

/** Static checks. Each counts as one test. */
export const checks: Check[] = [
  { name: "types", command: ["tsc", "-p", "."], remedy: "node_modules/.bin/tsc -p ." },
  {
    name: "format and lint",
    command: ["biome", "check", "--error-on-warnings", "."],
    remedy: "node_modules/.bin/biome check --write .",
  },
  { name: "dead code", command: ["knip", "--no-progress"], remedy: "node_modules/.bin/knip" },
];

export async function runCheck(check: Check): Promise<GroupResult> {
  const startedAt = performance.now();
  const [tool = "", ...args] = check.command;
  const child = Bun.spawn([`node_modules/.bin/${tool}`, ...args], {
    cwd: `${import.meta.dir}/..`,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) console.log(`${out}${err}`);
  return {
    name: check.name,
    passed: code === 0 ? 1 : 0,
    failed: code === 0 ? 0 : 1,
    skipped: 0,
    files: [],
    failures: code === 0 ? [] : [`try ${check.remedy}`],
    ms: performance.now() - startedAt,
  };
}
