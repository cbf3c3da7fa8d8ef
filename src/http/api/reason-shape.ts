import type { TraceStep } from "../../model/delivery.ts";
import { allTexts } from "../../reason/all-texts.ts";
import { answerParts, type ReasonCode, reasonParts } from "../../reason/reason.ts";
import { z } from "./shape.ts";

const code = z.enum(Object.keys(allTexts) as [ReasonCode, ...ReasonCode[]]);
const inner = z.object({ code, values: z.record(z.string(), z.string()) });

/** The sentences of a reason by code and values, for translation. */
export const reasonPartsShape = z
  .array(
    z
      .object({ code, values: z.record(z.string(), z.union([z.string(), inner])) })
      .openapi("ReasonPart", { description: "A sentence: its stable code, and the values inside it." }),
  )
  .openapi({ description: "The same text as code and values; empty: a text that has no code." });

export function traceJson(steps: readonly TraceStep[]) {
  return steps.map((step) => ({ ...step, detailParts: reasonParts(step.detail) }));
}

export const warningPartsShape = z
  .array(reasonPartsShape)
  .openapi({ description: "Each of `warnings` as codes and values." });

export function withWarnings(warnings: string[]) {
  return { warnings, warningParts: warnings.map(answerParts) };
}

/** Adds the parts of its reason. */
export function withReasonParts<T extends { reason: string }>(reasoned: T) {
  return { ...reasoned, reasonParts: reasonParts(reasoned.reason) };
}
