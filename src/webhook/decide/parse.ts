import { decodeBody } from "../../git-host/delivery/body.ts";
import { gitHostOf } from "../../git-host/hosts.ts";
import { readEvent } from "../../git-host/read-event.ts";
import type { Hook } from "../hook/hooks.ts";
import type { DeliveryRequest, PendingDelivery } from "./delivery.ts";
import { storedBodyOf } from "./stored-body.ts";

/** Decodes, normalises and masks the body as the hook says. */
export function parse(
  hook: Hook,
  request: DeliveryRequest,
  delivery: PendingDelivery,
  body: Uint8Array,
): PendingDelivery {
  const { headers } = request;
  const { text, payload, problem } = decodeBody(
    body,
    headers.get("content-type") ?? "",
    headers.get("content-encoding") ?? "",
  );
  const event = payload === null ? null : readEvent(gitHostOf(hook.config.provider), headers, payload);
  const nowMs = delivery.arrivedAt.getTime();
  const secrets = [...hook.secrets().accepted(nowMs), ...hook.secrets().ended(nowMs)];
  return { ...delivery, event, problem, body: storedBodyOf(text, payload ?? undefined, secrets) };
}
