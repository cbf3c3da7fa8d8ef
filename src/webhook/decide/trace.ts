import type { TraceResult, TraceStep } from "../../model/delivery.ts";

/** Longer values are truncated: the trace is for people. */
const maxTextLength = 300;

/** The steps of one decision, in order: input, rule and result of each. */
export interface Trace {
  readonly steps: TraceStep[];
  add(step: string, result: TraceResult, value: string, pattern: string, detail: string): void;
}

/** A trace that continues another one. */
export function newTrace(before: readonly TraceStep[] = []): Trace {
  const steps: TraceStep[] = [...before];
  return {
    steps,
    add(step, result, value, pattern, detail) {
      steps.push({ step, result, value: cut(value), pattern: cut(pattern), detail: cut(detail) });
    },
  };
}

function cut(text: string): string {
  return text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength)}…`;
}
