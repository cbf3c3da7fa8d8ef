import { z } from "zod";
import { nearest } from "../nearest-name.ts";
import type { Reason, Sentence } from "./reason.ts";
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

/** A reason as it is stored. Answers have its English text, and its sentences in a field beside it. */
export const reasonSchema = z.custom<Reason>();
export const sentenceSchema = z.custom<Sentence>();

/** ISO 8601, UTC. */
export const time = z.iso.datetime().meta({ example: "2026-01-31T09:30:00.000Z" });

/** A name: one line without surrounding white space. */
export const lineText = text(100, 1)
  .refine((value) => value === value.trim() && !/\p{Cc}/u.test(value), ruleText("not_one_line"))
  .meta({ example: "shop" });

/** What a project asks of a runner, and a runner offers. */
export const label = z
  .string()
  .regex(/^[\w.:/-]{1,64}$/, ruleText("label_invalid"))
  .meta({ example: "linux" });

/**
 * An object whose unknown fields are refused by name, with the field that was probably meant. `noObject` is what is said of a value
 * of another type.
 */
export function strict<S extends z.core.$ZodLooseShape>(shape: S, noObject?: string) {
  const names = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys") return issue.code === "invalid_type" ? noObject : undefined;
      // One line for each key, in order; schema-faults.ts splits them again.
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
