import { type Reason, renderReason, type Sentence, sentencesOf } from "./reason.ts";

/** Reasons as answers and messages have them: `<name>` is the English text, `<name>Parts` are its codes and values. */
export function reasonJson<Name extends string>(reasons: Record<Name, Reason>) {
  const shown: Record<string, string | Sentence[]> = {};
  for (const [name, reason] of Object.entries<Reason>(reasons)) {
    shown[name] = renderReason(reason);
    shown[`${name}Parts`] = sentencesOf(reason);
  }
  return shown as Record<Name, string> & Record<`${Name}Parts`, Sentence[]>;
}
