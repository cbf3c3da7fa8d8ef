import type { TraceStep } from "../../model/delivery.ts";
import { type Reason, renderReason, type Sentence, sentencesOf } from "../../reason/reason.ts";
import { reasonJson } from "../../reason/reason-json.ts";
import { sentenceShape } from "../../reason/sentence-shape.ts";
import { z } from "./shape.ts";

const partShape: z.ZodType<Sentence> = sentenceShape(() => partShape).openapi("ReasonPart", {
  description:
    "A sentence: its stable code, and the values inside it, which may be sentences themselves. Later versions have more codes: show the text of one that you do not know.",
});

/** The sentences of a reason by code and values, for translation. */
export const reasonPartsShape = z
  .array(partShape)
  .openapi({ description: "The same text as code and values; empty: a text that has no code." });

export function traceJson(steps: readonly TraceStep[]) {
  return steps.map(({ detail, ...step }) => ({ ...step, ...reasonJson({ detail }) }));
}

export const warningPartsShape = z
  .array(reasonPartsShape)
  .openapi({ description: "Each of `warnings` as codes and values." });

/** More warnings after those that something has. */
export function addWarnings<T extends ReturnType<typeof withWarnings>>(shown: T, added: Reason[]): T {
  const { warnings, warningParts } = withWarnings(added);
  return {
    ...shown,
    warnings: [...shown.warnings, ...warnings],
    warningParts: [...shown.warningParts, ...warningParts],
  };
}

export function withWarnings(warnings: readonly Reason[]) {
  return {
    warnings: warnings.map((warning) => renderReason(warning)),
    warningParts: warnings.map(sentencesOf),
  };
}
