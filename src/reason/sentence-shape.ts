import { z } from "zod";
import { allTexts } from "./all-texts.ts";
import type { ReasonCode, Sentence } from "./reason.ts";

/** A sentence as it arrives, or as it is documented; `inner` is the shape of a sentence inside it. */
export function sentenceShape(inner: () => z.ZodType<Sentence>) {
  const one = z.union([z.string(), z.lazy(inner)]);
  return z.object({
    code: z.enum(Object.keys(allTexts) as [ReasonCode, ...ReasonCode[]]),
    values: z.record(z.string(), z.union([one, z.array(one)])),
  });
}
