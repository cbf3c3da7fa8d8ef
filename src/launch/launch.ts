/**
 * The entry of bin/slipway. Runs the built program (scripts/build-program.ts) if it was built from exactly these sources,
 * and the sources otherwise. A server whose program is out of date has it built in the background, for the next start.
 */
import { buildInBackground, currentProgram } from "./built-program.ts";

const program = currentProgram();
if (program !== null) {
  require(program);
} else {
  if (isServer(process.argv.slice(2))) buildInBackground();
  await import("../main.ts");
}

/** Short commands and a server's own child processes never build. */
function isServer([command = "", ...options]: string[]): boolean {
  return (
    ["start", "push", "deploy", "runner"].includes(command) &&
    !options.includes("--local") &&
    options[0] !== "trace"
  );
}
