import { Link } from "wouter";
import type { TraceResult } from "../../src/model/delivery.ts";
import type { Sentence } from "../../src/reason/reason.ts";
import { reasonIn } from "../text/reason-text.ts";
import { rich } from "../text/rich.ts";
import { type TextKey, t } from "../text/text.ts";
import { traceValue } from "../trace-value.ts";
import { visible } from "../visible.ts";

interface Step {
  step: string;
  result: TraceResult;
  value: string;
  pattern: string;
  detail: string;
  detailParts: Sentence[];
}

const marks = {
  pass: { sign: "✓", tone: "success" },
  stop: { sign: "✕", tone: "failed" },
  unknown: { sign: "?", tone: "lost" },
  skipped: { sign: "–", tone: "waiting" },
} as const;

const stepNames = {
  branch: "trace.step_branch",
  debounce: "trace.step_debounce",
  enabled: "trace.step_enabled",
  event: "trace.step_event",
  fork: "trace.step_fork",
  keyword: "trace.step_keyword",
  locate: "trace.step_locate",
  "other ref": "trace.step_other_ref",
  path: "trace.step_path",
  payload: "trace.step_payload",
  poll: "trace.step_poll",
  queue: "trace.step_queue",
  rate: "trace.step_rate",
  ref: "trace.step_ref",
  repeat: "trace.step_repeat",
  replaced: "trace.step_replaced",
  repository: "trace.step_repository",
  signature: "trace.step_signature",
  size: "trace.step_size",
  tag: "trace.step_tag",
  task: "trace.step_task",
} as const satisfies Record<string, TextKey>;

function nameOf(step: string): string {
  return step in stepNames ? t(stepNames[step as keyof typeof stepNames]) : visible(step);
}

/** Where the settings of the project change what stopped a delivery. */
const waysOn = {
  branch: { place: "rules#rules", text: "trace.change_branch" },
  tag: { place: "rules#rules", text: "trace.change_tag" },
  event: { place: "rules#rules", text: "trace.change_event" },
  path: { place: "rules#rules", text: "trace.change_path" },
  keyword: { place: "rules#rules", text: "trace.change_keyword" },
  fork: { place: "rules#rules", text: "trace.change_fork" },
  signature: { place: "source#secret", text: "trace.change_signature" },
  repository: { place: "source", text: "trace.change_repository" },
} as const satisfies Record<string, { place: string; text: TextKey }>;

function WayOn({ step: { step, result }, projectId }: { step: Step; projectId: number }) {
  if (result !== "stop" || projectId === 0 || !(step in waysOn)) return null;
  const { place, text } = waysOn[step as keyof typeof waysOn];
  return <Link href={`/projects/${projectId}/settings/${place}`}>{t(text)}</Link>;
}

/**
 * How a delivery was decided, step by step: what each step saw, what it compared with, what came out. With `projectId`, what
 * stopped it leads to its setting.
 */
export function Trace({ steps, projectId = 0 }: { steps: Step[]; projectId?: number }) {
  return (
    <ol className="trace" aria-label={t("trace.label")}>
      {steps.map((step) => {
        const { sign, tone } = marks[step.result];
        return (
          <li key={`${step.step} ${step.value}`} data-result={step.result}>
            <span className="step-mark" data-tone={tone} aria-hidden="true">
              {sign}
            </span>
            <div>
              <div>
                <b>{nameOf(step.step)}</b> <span className="dim">{t(`trace.${step.result}`)}</span>
              </div>
              {(step.value !== "" || step.pattern !== "") && (
                <div className="step-pair">
                  {step.value !== "" && (
                    <span>
                      {rich("trace.saw", {
                        value: <code className="foreign">{traceValue(step.step, step.value)}</code>,
                      })}
                    </span>
                  )}
                  {step.pattern !== "" && (
                    <span>
                      {rich("trace.against", {
                        pattern: <code className="foreign">{traceValue(step.step, step.pattern)}</code>,
                      })}
                    </span>
                  )}
                </div>
              )}
              {step.detail !== "" && (
                <div className="foreign step-detail">{reasonIn(step.detail, step.detailParts)}</div>
              )}
              <WayOn step={step} projectId={projectId} />
            </div>
          </li>
        );
      })}
    </ol>
  );
}
