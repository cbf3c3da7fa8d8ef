import type { DeliverySummary, TraceStep } from "../model/delivery.ts";

/** What a delivery says of itself once another one has taken over its task: its own ref and commit are not what is built. */
export function withReplacement<D extends DeliverySummary & { trace?: TraceStep[] }>(delivery: D): D {
  const { replaced_by, reason, trace } = delivery;
  if (replaced_by === null) return delivery;
  const detail = `Delivery ${replaced_by} took over the task within the debounce window: the task builds what that one names.`;
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
