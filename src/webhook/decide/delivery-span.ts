import { renderReason } from "../../reason/reason.ts";
import type { EndedSpan } from "../../telemetry/telemetry.ts";
import { readTraceparent } from "../../telemetry/trace-context.ts";
import type { PendingDelivery } from "./delivery.ts";
import type { Answer } from "./outcome.ts";

/** The span of a delivery, from its arrival to its answer; null: it is not traced. */
export function deliverySpan(
  { traceparent, kind, arrivedAt, projectId, provider, event }: PendingDelivery,
  { httpStatus, body }: Answer,
  endMs: number,
): EndedSpan | null {
  const context = readTraceparent(traceparent);
  if (context === null) return null;
  const { deliveryId, status, code, reason, taskId, mergedIntoTaskId } = body;
  return {
    name: "delivery",
    kind: kind.remoteIp === null ? "server" : "internal",
    context,
    startMs: arrivedAt.getTime(),
    endMs,
    attributes: {
      "http.response.status_code": httpStatus,
      "slipway.delivery.id": deliveryId,
      "slipway.delivery.status": status,
      "slipway.delivery.code": code,
      "slipway.delivery.reason": renderReason(reason),
      "slipway.project.id": projectId,
      "vcs.provider.name": provider,
      ...(event === null ? {} : { "vcs.ref.head.name": event.rawRef }),
      ...(taskId === undefined ? {} : { "slipway.task.id": taskId }),
      ...(mergedIntoTaskId === undefined ? {} : { "slipway.task.merged_into": mergedIntoTaskId }),
    },
    // A refusal is the sender's fault, not one of this server.
    ...(status === "failed" ? { fault: renderReason(reason) } : {}),
  };
}
