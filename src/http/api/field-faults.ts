import { z } from "@hono/zod-openapi";
import type { $ZodIssue, $ZodRawIssue } from "zod/v4/core";
import { Fault, type FieldFault } from "../../errors.ts";
import { type ReasonCode, reasonText } from "../../reason/reason.ts";

/** Names of the parts of a request in messages. */
const placeOf: Record<string, string> = { json: "body", param: "path", query: "query", header: "header" };

/** More would only repeat the first ones. */
export const maxFields = 50;
/** Length limit of a field name in an answer. */
const fieldMaxLength = 200;

/** A Fault "invalid" that names every wrong field with a plain sentence. */
export function invalidInput(target: string, issues: readonly $ZodIssue[]): Fault {
  const place = placeOf[target] ?? target;
  const fields = issues.flatMap((issue) => fieldFaults(issue, place)).slice(0, maxFields);
  const first = fields[0];
  const more = fields.length > 1 ? ` (and ${fields.length - 1} more)` : "";
  const message = first
    ? reasonText("input_wrong", { place, fault: ended(`${first.field} ${first.message}${more}`) })
    : "";
  return new Fault("invalid", message, { fields });
}

function ended(sentence: string): string {
  return sentence.endsWith("?") ? sentence : `${sentence}.`;
}

function fieldFaults(issue: $ZodIssue, place: string): FieldFault[] {
  const path = issue.path.map(String);
  if (issue.code === "unrecognized_keys") {
    const messages = issue.message.split("\n");
    return issue.keys.slice(0, maxFields).map((key, index) => ({
      field: shortened([...path, key].join(".")),
      message: messages[index] ?? reasonText("field_unknown"),
    }));
  }
  return [{ field: shortened(path.join(".")) || place, message: issue.message }];
}

function shortened(field: string): string {
  return field.length > fieldMaxLength ? `${field.slice(0, fieldMaxLength).toWellFormed()}…` : field;
}

const expectedCodes: Partial<Record<string, ReasonCode & `must_be_${string}`>> = {
  string: "must_be_text",
  number: "must_be_number",
  int: "must_be_whole",
  boolean: "must_be_boolean",
  array: "must_be_list",
  object: "must_be_object",
  record: "must_be_object",
};

/** Sentences that continue "<field> …", in place of zod's messages. */
function sentence(issue: $ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? reasonText("required") : wrongType(String(issue.expected));
    case "invalid_value":
      return oneOf(issue.values as unknown[]);
    case "too_small":
      return bound("at_least", issue.origin as string, issue.minimum as number);
    case "too_big":
      return bound("at_most", issue.origin as string, issue.maximum as number);
    case "invalid_format":
      return reasonText("format_invalid", { format: String(issue.format) });
    case "invalid_key":
      // The inner issue says which rule the key breaks.
      return (issue.issues as { message: string }[])[0]?.message;
    case "invalid_union":
      return Array.isArray(issue.options) ? oneOf(issue.options) : reasonText("form_unknown");
    default:
      return undefined;
  }
}

function wrongType(expected: string): string {
  const code = expectedCodes[expected];
  return code === undefined ? reasonText("must_be", { choices: expected }) : reasonText(code);
}

function oneOf(values: unknown[]): string {
  return reasonText("must_be", { choices: values.map((value) => JSON.stringify(value)).join(" or ") });
}

function bound(word: "at_least" | "at_most", origin: string, limit: number): string {
  if (origin === "string")
    return limit === 1 ? reasonText(`${word}_one_character`) : reasonText(`${word}_characters`, { limit });
  if (origin === "array" || origin === "set")
    return limit === 1 ? reasonText(`${word}_one_entry`) : reasonText(`${word}_entries`, { limit });
  return reasonText(word, { limit });
}

z.config({ customError: sentence });
