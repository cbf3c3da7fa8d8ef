import type { TraceResult } from "../../src/model/delivery.ts";
import { visible } from "../visible.ts";

interface Step {
  step: string;
  result: TraceResult;
  value: string;
  pattern: string;
  detail: string;
}

const marks = {
  pass: { sign: "✓", tone: "success", word: "passed" },
  stop: { sign: "✕", tone: "failed", word: "stopped here" },
  unknown: { sign: "?", tone: "warning", word: "could not tell, so it passed" },
  skipped: { sign: "–", tone: "waiting", word: "not asked" },
} as const;

/** How a delivery was decided, step by step: what each step saw, what it compared with, what came out. */
export function Trace({ steps }: { steps: Step[] }) {
  return (
    <ol className="trace" aria-label="Steps of the decision">
      {steps.map((step) => {
        const { sign, tone, word } = marks[step.result];
        return (
          <li key={`${step.step} ${step.value}`} data-result={step.result}>
            <span className="step-mark" data-tone={tone} aria-hidden="true">
              {sign}
            </span>
            <div>
              <div>
                <b>{step.step}</b> <span className="dim">{word}</span>
              </div>
              {(step.value !== "" || step.pattern !== "") && (
                <div className="step-pair">
                  {step.value !== "" && (
                    <span>
                      saw <code className="foreign">{visible(step.value)}</code>
                    </span>
                  )}
                  {step.pattern !== "" && (
                    <span>
                      against <code className="foreign">{visible(step.pattern)}</code>
                    </span>
                  )}
                </div>
              )}
              {step.detail !== "" && <div className="foreign step-detail">{visible(step.detail)}</div>}
            </div>
          </li>
        );
      })}
    </ol>
  );
}
