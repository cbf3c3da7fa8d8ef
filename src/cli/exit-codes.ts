import { ConfigError } from "../config/config-load.ts";
import { Fault, messageOf } from "../errors.ts";
import { renderReason } from "../reason/reason.ts";
import { visibleText } from "../visible-text.ts";

/** Exit codes of every command, also printed by --help. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  refused: 4,
  notFound: 5,
} as const;

export const exitCodesHelp = `
Exit codes: 0 done · 1 failed · 2 wrong usage or settings · 3 server not reachable · 4 not signed in or not
allowed · 5 not found`;

function exitCodeOf(thrown: unknown): number {
  if (thrown instanceof ConfigError) return exitCodes.usage;
  if (!(thrown instanceof Fault)) return exitCodes.failed;
  if (thrown.code === "unavailable") return exitCodes.unreachable;
  if (thrown.code === "unauthenticated" || thrown.code === "forbidden") return exitCodes.refused;
  if (thrown.code === "not_found") return exitCodes.notFound;
  if (thrown.code === "invalid" || thrown.code === "malformed") return exitCodes.usage;
  return exitCodes.failed;
}

/** Ends the process after its last work, with the text and the exit code of this error. */
export function fail(error: unknown): void {
  // The message may come from the server and contain untrusted text.
  process.stderr.write(`${visibleText(explain(error), "\n\t")}\n`);
  process.exitCode = exitCodeOf(error);
}

/** The error text for stderr. */
function explain(thrown: unknown): string {
  if (thrown instanceof ConfigError) {
    const lines = thrown.faults.map((fault) => `  ${fault.key}: ${fault.message} [from ${fault.source}]`);
    const count = lines.length === 1 ? "One setting is wrong" : `${lines.length} settings are wrong`;
    return `${count}:\n${lines.join("\n")}`;
  }
  // With one field, the message already names it.
  if (thrown instanceof Fault && thrown.fields && thrown.fields.length > 1)
    return [
      thrown.message,
      ...thrown.fields.map(({ field, message }) => `  ${field}: ${renderReason(message)}`),
    ].join("\n");
  return messageOf(thrown);
}
