import { newReason, type Reason } from "../../reason/reason.ts";
import { maxFields } from "../../reason/schema-forms.ts";
import type { Place } from "./yaml-places.ts";

/** What is wrong at one place of a file. */
export interface FileFault extends Place {
  /** As in `build.0.script`; empty: it is no YAML. */
  field: string;
  message: Reason;
}

/** In the order of the lines of the file. */
export function inOrder(faults: FileFault[]): FileFault[] {
  return faults.toSorted((a, b) => a.line - b.line || a.column - b.column).slice(0, maxFields);
}

/** A fault as people read it: `.slipway.yaml, line 4, column 5: build.0.scirpt is no field here; did you mean script?` */
export function fileFaultText(path: string, { line, column, field, message }: FileFault): Reason {
  return field === ""
    ? newReason("file_fault", { path, line, column, why: message })
    : newReason("file_field_fault", { path, line, column, field, why: message });
}
