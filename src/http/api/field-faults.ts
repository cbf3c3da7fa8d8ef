import { z } from "@hono/zod-openapi";
import type { $ZodIssue, $ZodRawIssue } from "zod/v4/core";
import { Fault, type FieldFault } from "../../errors.ts";

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
    ? `The ${place} is not right: ${ended(`${first.field} ${first.message}${more}`)}`
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
      message: messages[index] ?? "is no field here",
    }));
  }
  return [{ field: shortened(path.join(".")) || place, message: issue.message }];
}

function shortened(field: string): string {
  return field.length > fieldMaxLength ? `${field.slice(0, fieldMaxLength).toWellFormed()}…` : field;
}

/** Names of types in messages. */
const expectedWords: Record<string, string> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  null: "null",
};

/** Sentences that continue "<field> …", in place of zod's messages. */
function sentence(issue: $ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return "is required";
      return `must be ${expectedWords[issue.expected as string] ?? String(issue.expected)}`;
    case "invalid_value":
      return oneOf(issue.values as unknown[]);
    case "too_small":
      return bound(issue.origin as string, "at least", issue.minimum as number);
    case "too_big":
      return bound(issue.origin as string, "at most", issue.maximum as number);
    case "invalid_format":
      return `is not a valid ${String(issue.format)}`;
    case "invalid_key":
      // The inner issue says which rule the key breaks.
      return (issue.issues as { message: string }[])[0]?.message;
    case "invalid_union":
      return Array.isArray(issue.options) ? oneOf(issue.options) : "matches none of the allowed forms";
    default:
      return undefined;
  }
}

function oneOf(values: unknown[]): string {
  return `must be ${values.map((value) => JSON.stringify(value)).join(" or ")}`;
}

function bound(origin: string, word: string, limit: number): string {
  if (origin === "string") return `must have ${word} ${limit} character${limit === 1 ? "" : "s"}`;
  if (origin === "array" || origin === "set")
    return `must have ${word} ${limit} entr${limit === 1 ? "y" : "ies"}`;
  return `must be ${word} ${limit}`;
}

z.config({ customError: sentence });
