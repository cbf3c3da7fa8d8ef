import type { NormalizedEvent } from "../../model/delivery.ts";
import { newReason } from "../../reason/reason.ts";
import type { Rules } from "../hook/compiled-rules.ts";
import type { Trace } from "./delivery.ts";
import type { Outcome } from "./outcome.ts";

/** An event that can build nothing, whatever the rules are. */
export function stopIfSkipped(event: NormalizedEvent, trace: Trace): Outcome | null {
  if (event.skip === null) return null;
  const { code, reason } = event.skip;
  trace.add("event", "stop", event.rawEvent || (event.event ?? ""), "", reason);
  return { code, reason };
}

/** Filter step 1: the event is in the list of the project. */
export function matchEvent(event: NormalizedEvent, rules: Rules, trace: Trace): Outcome | null {
  const allowed = rules.events.join(", ");
  const isAllowed = event.event !== null && rules.events.includes(event.event);
  const detail = isAllowed
    ? newReason("event_allowed")
    : newReason("event_not_listed", { event: event.event ?? "null", events: allowed });
  trace.add("event", isAllowed ? "pass" : "stop", event.event ?? "", allowed, detail);
  return isAllowed ? null : { code: "event_not_allowed", reason: detail };
}
