import { gitHostOf } from "../../git-host/hosts.ts";
import { keptHeaders } from "../../git-host/kept-headers.ts";
import { hostDeliveryIdOf } from "../../git-host/read-event.ts";
import type { Hook } from "../hook/hook-directory.ts";
import type { DeliveryRequest, PendingDelivery } from "./delivery.ts";

/** Completes a delivery with the project that its address belongs to. */
export function located(hook: Hook, request: DeliveryRequest, delivery: PendingDelivery): PendingDelivery {
  const host = gitHostOf(hook.config.provider);
  const { headers } = request;
  return {
    ...delivery,
    ...projectOf(hook),
    headers: keptHeaders(headers, host),
    hostDeliveryId: hostDeliveryIdOf(host, headers),
  };
}

export function projectOf({ config, project }: Hook) {
  return { projectId: project.id, projectName: project.name, provider: config.provider };
}
