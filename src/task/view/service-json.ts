import { type RunningService, stateAt } from "../../model/service/running-service.ts";

/** A service as live messages and notifications write it. */
export function serviceJson(service: RunningService, now: Date) {
  const { name, taskId, runnerId, restarts, lastExit, fault, lastLines, port, memoryBytes, cpu } = service;
  const state = stateAt(service, now);
  const since = state === "unknown" ? service.reportedAt : service.since;
  return {
    ...{ name, state, since: since.toISOString(), taskId, runnerId },
    ...{ restarts, lastExit, fault, lastLines, port, memoryBytes, cpu },
  };
}
export type ServiceJson = ReturnType<typeof serviceJson>;
