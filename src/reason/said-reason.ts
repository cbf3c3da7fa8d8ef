import { z } from "zod";
import { mapTexts, type Reason, type Sentence } from "./reason.ts";
import { sentenceShape } from "./sentence-shape.ts";

const maxLength = 2000;

/** Text from a runner, sanitised for the database, JSON and display. */
export const saidText = (max: number) => z.string().max(max).overwrite(sanitised);

const sentence: z.ZodType<Sentence> = sentenceShape(() => sentence);

/**
 * The English text, and the same as code and values. An older runner sends the text only; codes of a newer runner may be
 * unknown here, and then the text is kept.
 */
export const saidReason = {
  reason: saidText(maxLength),
  reasonParts: z.array(sentence).max(20).optional().catch(undefined),
};

/** What a runner gave as a reason. */
export function reasonOf({
  reason,
  reasonParts = [],
}: {
  reason: string;
  reasonParts?: Sentence[] | undefined;
}): Reason {
  if (reasonParts.length === 0) return reason;
  return mapTexts(reasonParts, (text) => sanitised(text.slice(0, maxLength)));
}

function sanitised(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd");
}
