import type { DeliverySummary, TraceStep } from "../../model/delivery.ts";
import { reasonText } from "../../reason/reason.ts";

/** Adds to a delivery that another delivery took over its task, so that its own ref and commit are not built. */
export function withReplacement<D extends DeliverySummary & { trace?: TraceStep[] }>(delivery: D): D {
  const { replaced_by, reason, trace } = delivery;
  if (replaced_by === null) return delivery;
  const detail = reasonText("replaced", { delivery: replaced_by });
  const named = { ...delivery, reason: `${reason} ${detail}` };
  if (trace === undefined) return named;
  const step: TraceStep = {
    step: "replaced",
    result: "stop",
    value: `delivery ${replaced_by}`,
    pattern: "",
    detail,
  };
  return { ...named, trace: [...trace, step] };
}
