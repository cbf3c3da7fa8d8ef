import { readFileSync } from "node:fs";
import { Fault, messageOf } from "../../errors.ts";
import { type FileFault, fileFaultText } from "../../model/pipeline-file/file-fault.ts";
import { renderReason } from "../../reason/reason.ts";
import { type OutputOptions, print } from "../output.ts";

/** The text of a file that a command was given. `-` is the standard input. */
export function textOfFile(file: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (error) {
    throw new Fault("not_found", `${file} cannot be read: ${messageOf(error)}.`);
  }
}

/** The mistakes of a file, each with its line and column; with --json also as JSON. */
export function wrongFile(file: string, faults: FileFault[], options: OutputOptions): Fault {
  if (options.json) print(options, { ok: false, faults: faults.map(faultJson) }, String);
  return new Fault("invalid", faultLines(file, faults));
}

export function faultLines(file: string, faults: FileFault[]): string {
  return faults.map((fault) => renderReason(fileFaultText(file, fault))).join("\n");
}

function faultJson({ message, ...fault }: FileFault) {
  return { ...fault, message: renderReason(message) };
}
