import type { $ZodIssue, $ZodRawIssue } from "zod/v4/core";
import { newReason, type Reason, type ReasonCode } from "./reason.ts";
import { reasonOfRule, ruleText } from "./rule-text.ts";
import { maxFields } from "./schema-forms.ts";

/** What a schema says is wrong with one field of a value. */
export interface SchemaFault {
  path: PropertyKey[];
  message: Reason;
  /** The name of the field is wrong, not its value. */
  isName: boolean;
}

export function schemaFaults(issues: readonly $ZodIssue[]): SchemaFault[] {
  return issues.flatMap(faultsOf);
}

function faultsOf(issue: $ZodIssue): SchemaFault[] {
  const { path } = issue;
  const meant = issue.code === "invalid_union" ? meantForm(issue.errors) : undefined;
  if (meant) return meant.flatMap((inner) => faultsOf({ ...inner, path: [...path, ...inner.path] }));
  if (issue.code === "unrecognized_keys") {
    const messages = issue.message.split("\n");
    return issue.keys.slice(0, maxFields).map((key, index) => ({
      path: [...path, key],
      message: reasonOfRule(messages[index] ?? ruleText("field_unknown")),
      isName: true,
    }));
  }
  return [{ path, message: reasonOfRule(issue.message), isName: issue.code === "invalid_key" }];
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

const expectedCodes: Partial<Record<string, ReasonCode & `must_be_${string}`>> = {
  string: "must_be_text",
  number: "must_be_number",
  int: "must_be_whole",
  boolean: "must_be_boolean",
  array: "must_be_list",
  object: "must_be_object",
  record: "must_be_object",
};

/** For zod, in place of its own messages: sentences that continue "<field> …". */
export function fieldMessage(issue: $ZodRawIssue): string | undefined {
  const reason = sentence(issue);
  return reason && JSON.stringify(reason);
}

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
