import { z } from "@hono/zod-openapi";
import type { $ZodIssue } from "zod/v4/core";
import { Fault, type FieldFault } from "../../errors.ts";
import { newReason, renderReason } from "../../reason/reason.ts";
import { fieldMessage, schemaFaults } from "../../reason/schema-faults.ts";
import { maxFields } from "../../reason/schema-forms.ts";

/** Names of the parts of a request in messages. */
const placeOf: Record<string, string> = { json: "body", param: "path", query: "query", header: "header" };

/** Length limit of a field name in an answer. */
const fieldMaxLength = 200;

/** A Fault "invalid" that names every wrong field with a plain sentence. */
export function invalidInput(target: string, issues: readonly $ZodIssue[]): Fault {
  const place = placeOf[target] ?? target;
  const wrong = schemaFaults(issues).map(({ path, message }) => ({
    field: shortened(path.map(String).join(".")) || place,
    message,
  }));
  return wrongFields(place, wrong);
}

/** A Fault "invalid" whose sentence is about the first field. */
export function wrongFields(place: string, wrong: FieldFault[]): Fault {
  const fields = wrong.slice(0, maxFields);
  const first = fields[0];
  const more = fields.length > 1 ? ` (and ${fields.length - 1} more)` : "";
  const message = first
    ? newReason("input_wrong", {
        place,
        fault: ended(`${first.field} ${renderReason(first.message)}${more}`),
      })
    : "";
  return new Fault("invalid", message, { fields });
}

function ended(sentence: string): string {
  return sentence.endsWith("?") ? sentence : `${sentence}.`;
}

function shortened(field: string): string {
  return field.length > fieldMaxLength ? `${field.slice(0, fieldMaxLength).toWellFormed()}…` : field;
}

z.config({ customError: fieldMessage });
