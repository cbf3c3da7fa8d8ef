import type { Reason } from "../../reason/reason.ts";
import type { RequestFigures, RouteReport } from "./route.ts";
import type { ServiceReport, ServiceState } from "./service.ts";

/** What is known of a service of a project: the last report of its runner, and what follows from all of them. */
export interface RunningService
  extends Pick<
    ServiceReport,
    | "projectId"
    | "name"
    | "taskId"
    | "state"
    | "restarts"
    | "exits"
    | "lastExit"
    | "fault"
    | "lastLines"
    | "port"
    | "memoryBytes"
    | "cpu"
  > {
  runnerId: number;
  routes: RouteState[];
  /** By the clock of the runner's machine, as all times of the report. */
  since: Date;
  startedAt: Date;
  reportedAt: Date;
  /** When the last sample of memory and processor was stored. */
  sampledAt: Date;
  /** Subscribers know that its runner is away. */
  isAway: boolean;
  /** When people were notified that it is down; null: it is not, or they know that it is up again. */
  downSince: Date | null;
  /** Since when it serves without an exit, while people believe that it is down. */
  recoveringSince: Date | null;
}

/** Memory and processor of a service at one time. */
export interface ServiceSample {
  at: Date;
  memoryBytes: number | null;
  cpu: number | null;
}

/** What its runner knows of one place of a route. */
export interface RouteState extends Omit<RouteReport, "fault"> {
  /** Why users do not reach it; empty: nothing is known to be wrong. */
  fault: Reason;
}

/** What the proxy answered in one minute, which began at `at`. */
export interface RequestMinute extends Omit<RequestFigures, "from" | "to"> {
  at: Date;
}

/** A runner reports every ten seconds; silent for three times that, nothing is known of its services. */
export const unknownAfterMs = 30_000;

/** The state that people see: a runner that is away never has a service that serves. */
export function stateAt({ state, reportedAt }: RunningService, now: Date): ServiceState {
  return now.getTime() - reportedAt.getTime() >= unknownAfterMs ? "unknown" : state;
}

/** The worst first. */
const severity: readonly ServiceState[] = [
  "down",
  "restarting",
  "unknown",
  "unhealthy",
  "starting",
  "stopped",
  "serving",
];

/** The state of a project: that of its worst service; null: it has none. */
export function worstState(states: readonly ServiceState[]): ServiceState | null {
  return severity.find((state) => states.includes(state)) ?? null;
}

/** Whether it answers, as far as is known. */
export function isUp(state: ServiceState): boolean {
  return state === "serving" || state === "unhealthy";
}

export interface ServiceKeeper {
  /** Replaces what was known of the service of this name. */
  put(service: RunningService): Promise<void>;
  ofProject(projectId: number): Promise<RunningService[]>;
  /** By project and name. */
  ofProjects(projectIds: readonly number[]): Promise<RunningService[]>;
  projectsOfRunner(runnerId: number): Promise<number[]>;
  delete(projectId: number, name: string): Promise<void>;
  /** Marks services whose runner has not reported since `before`, and gives their projects; later calls skip them. */
  markAway(before: Date): Promise<number[]>;
  /**
   * Services that do not serve although nobody stopped them, whose runner has not reported since `before`, or with a route that
   * users do not reach; at most `limit`, by project and name.
   */
  troubled(
    visibleProjectIds: readonly number[] | undefined,
    before: Date,
    limit: number,
  ): Promise<RunningService[]>;
  /** How many services are in each reported state; `unknown` if their runner has not reported since `before`. */
  countByState(before: Date): Promise<Partial<Record<ServiceState, number>>>;
  addSample(projectId: number, name: string, sample: ServiceSample): Promise<void>;
  /** Of all services of a project, oldest first. */
  samples(projectId: number, since: Date): Promise<(ServiceSample & { name: string })[]>;
  addRequests(projectId: number, name: string, minute: RequestMinute): Promise<void>;
  /** Of one service, oldest first. */
  requests(projectId: number, name: string, since: Date): Promise<RequestMinute[]>;
  /** Of all services: samples, and figures of requests. */
  deleteSamples(before: Date): Promise<number>;
}
