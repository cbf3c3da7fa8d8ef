import type { TraceResult, TraceStep } from "../../model/delivery.ts";

/** Long values are cut: the trace is read by people. */
const maxTextLength = 300;

/** The steps of one decision, in order: what each saw, what it compared with, what came out. */
export interface Trace {
  readonly steps: TraceStep[];
  add(step: string, result: TraceResult, value: string, pattern: string, detail: string): void;
}

/** A trace that goes on after the steps of another. */
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
