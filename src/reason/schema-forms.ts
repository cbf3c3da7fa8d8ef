import { z } from "zod";
import { nearest } from "../nearest-name.ts";
import { ruleText } from "./rule-text.ts";

/** More wrong fields would only repeat the first ones. */
export const maxFields = 50;

/** Text of at most `max` characters that every database can hold: no NUL, no half characters. */
export function text(max: number, min = 0) {
  return z
    .string()
    .min(min)
    .max(max)
    .refine((value) => value.isWellFormed() && !value.includes("\0"), ruleText("not_text"));
}

/** An object whose unknown fields are refused by name, with the field that was probably meant. */
export function strict<S extends z.core.$ZodLooseShape>(shape: S) {
  const names = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys") return undefined;
      // One line for each key, in order; field-faults.ts splits them again.
      return issue.keys
        .slice(0, maxFields)
        .map((key) => unknownField(key, names))
        .join("\n");
    },
  });
}

function unknownField(name: string, known: string[]): string {
  const meant = nearest(name, known);
  if (meant) return ruleText("field_meant", { meant });
  return known.length > 0 ? ruleText("field_known", { known: known.join(", ") }) : ruleText("field_unknown");
}

export const httpUrl = text(2000).refine(
  (value) => URL.canParse(value) && ["http:", "https:"].includes(new URL(value).protocol),
  ruleText("url_not_http"),
);
