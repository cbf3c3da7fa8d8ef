import { main } from "./program.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export interface CliRun {
  exitCode: number;
  stdout: string;
  stderr: string;
  json(): unknown;
}

/** Runs `slipway` as from a shell: a separate process with its own home folder. */
export function buildCli(env: Record<string, string>) {
  const home = temporaryFolder("cli");
  return async (args: string[], stdin = ""): Promise<CliRun> => {
    const child = Bun.spawn([process.execPath, main, ...args], {
      cwd: home,
      env: { PATH: process.env.PATH ?? "", HOME: home, ...env },
      stdin: new Blob([stdin]),
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr, exitCode] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { exitCode, stdout, stderr, json: () => JSON.parse(stdout) as unknown };
  };
}
