import { z } from "@hono/zod-openapi";
import type { $ZodIssue, $ZodRawIssue } from "zod/v4/core";
import { Fault, type FieldFault } from "../../errors.ts";
import { newReason, type Reason, type ReasonCode, renderReason } from "../../reason/reason.ts";
import { reasonOfRule, ruleText } from "../../reason/rule-text.ts";
import { maxFields } from "../../reason/schema-forms.ts";

/** Names of the parts of a request in messages. */
const placeOf: Record<string, string> = { json: "body", param: "path", query: "query", header: "header" };

/** Length limit of a field name in an answer. */
const fieldMaxLength = 200;

/** A Fault "invalid" that names every wrong field with a plain sentence. */
export function invalidInput(target: string, issues: readonly $ZodIssue[]): Fault {
  const place = placeOf[target] ?? target;
  return wrongFields(
    place,
    issues.flatMap((issue) => fieldFaults(issue, place)),
  );
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

function fieldFaults(issue: $ZodIssue, place: string): FieldFault[] {
  const path = issue.path.map(String);
  const meant = issue.code === "invalid_union" ? meantForm(issue.errors) : undefined;
  if (meant)
    return meant.flatMap((inner) => fieldFaults({ ...inner, path: [...issue.path, ...inner.path] }, place));
  if (issue.code === "unrecognized_keys") {
    const messages = issue.message.split("\n");
    return issue.keys.slice(0, maxFields).map((key, index) => ({
      field: shortened([...path, key].join(".")),
      message: reasonOfRule(messages[index] ?? ruleText("field_unknown")),
    }));
  }
  return [{ field: shortened(path.join(".")) || place, message: reasonOfRule(issue.message) }];
}

/** The issues of the one form whose type the value has: a list, or an object; a number, or a text. */
function meantForm(forms: $ZodIssue[][]): $ZodIssue[] | undefined {
  const typed = forms.filter((issues) =>
    issues.every(
      ({ code, path }) => path.length > 0 || (code !== "invalid_type" && code !== "invalid_value"),
    ),
  );
  return typed.length === 1 ? typed[0] : undefined;
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
function sentence(issue: $ZodRawIssue): Reason | undefined {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? newReason("required") : wrongType(String(issue.expected));
    case "invalid_value":
      return oneOf(issue.values as unknown[]);
    case "too_small":
      return bound("at_least", issue.origin as string, issue.minimum as number);
    case "too_big":
      return bound("at_most", issue.origin as string, issue.maximum as number);
    case "invalid_format":
      return newReason("format_invalid", { format: String(issue.format) });
    case "invalid_key":
      // The inner issue says which rule the key breaks.
      return reasonOfRule((issue.issues as { message: string }[])[0]?.message ?? "");
    case "invalid_union":
      return Array.isArray(issue.options) ? oneOf(issue.options) : newReason("form_unknown");
    default:
      return undefined;
  }
}

function wrongType(expected: string): Reason {
  const code = expectedCodes[expected];
  return code === undefined ? newReason("must_be", { choices: expected }) : newReason(code);
}

function oneOf(values: unknown[]): Reason {
  return newReason("must_be", { choices: values.map((value) => JSON.stringify(value)).join(" or ") });
}

function bound(word: "at_least" | "at_most", origin: string, limit: number): Reason {
  if (origin === "string")
    return limit === 1 ? newReason(`${word}_one_character`) : newReason(`${word}_characters`, { limit });
  if (origin === "array" || origin === "set")
    return limit === 1 ? newReason(`${word}_one_entry`) : newReason(`${word}_entries`, { limit });
  return newReason(word, { limit });
}

z.config({
  customError(issue) {
    const reason = sentence(issue);
    return reason && JSON.stringify(reason);
  },
});
