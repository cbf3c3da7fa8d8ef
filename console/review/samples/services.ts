import type { ServiceState } from "../../../src/model/service/service.ts";
import type { EnvironmentState } from "../../environment-query.ts";
import type { HomeRow, Need } from "../../home-query.ts";
import type { Requests, RouteState, Service } from "../../shapes.ts";
import { ago, failedTask, task } from "./tasks.ts";

const release = { taskId: task.id, commit: task.commit ?? "", message: task.message };
const runner = { id: 1, name: "build-2" };
const memory = [180, 192, 204, 190, 210, 230, 221].map((megabytes, index) => ({
  at: ago(35 - 5 * index),
  memoryBytes: megabytes * 1024 * 1024,
  cpu: 0.05 * (index + 1),
}));

function serviceIn(state: ServiceState): Service {
  const isUp = state === "serving" || state === "unhealthy";
  return {
    name: `web-${state}`,
    state,
    since: ago(90),
    release,
    runner,
    restarts: state === "restarting" ? 3 : 0,
    lastExit: state === "restarting" || state === "down" ? "SIGKILL" : null,
    fault: state === "unhealthy" ? "GET /health answered 503" : "",
    lastLines: "",
    port: 8080,
    memoryBytes: isUp ? 221 * 1024 * 1024 : null,
    cpu: isUp ? 0.35 : null,
    samples: memory,
  };
}

const states: ServiceState[] = [
  "starting",
  "serving",
  "unhealthy",
  "restarting",
  "down",
  "stopped",
  "unknown",
];

/** One in each state. */
export const services: Service[] = states.map(serviceIn);

export const environments: EnvironmentState[] = [
  {
    name: "staging",
    projectId: 2,
    refs: ["main"],
    from: null,
    publicUrl: "https://staging.shop.example",
    runner,
    services: { total: 2, serving: 2, state: "serving" },
    release: { ...release, ref: "main", author: "ann", deployedAt: ago(12), promotedFrom: null },
    behind: null,
  },
  {
    name: "production",
    projectId: 3,
    refs: [],
    from: "staging",
    publicUrl: "https://shop.example",
    runner,
    services: { total: 2, serving: 1, state: "unhealthy" },
    release: { ...release, taskId: 20, ref: "main", author: "bo", deployedAt: ago(3000), promotedFrom: 19 },
    behind: { from: "staging", releases: 3, since: ago(2000), authors: ["ann", "bo"] },
  },
];

export const routes: RouteState[] = (["ok", "fault", "waiting", "removed", "unknown"] as const).map(
  (state) => ({
    service: "web",
    domain: `${state}.shop.example`,
    path: "/",
    url: `https://${state}.shop.example/`,
    state,
    fault: state === "fault" ? "The certificate could not be ordered." : "",
    faultParts: [],
    certificateUntil: state === "ok" ? ago(-60 * 24 * 60) : null,
  }),
);

const nothing = {
  projectId: 1,
  taskId: null,
  deliveryId: null,
  service: null,
  place: null,
  state: null,
  count: 0,
};

export const needs: Need[] = [
  { ...nothing, kind: "approval", name: "shop", taskId: 31, at: ago(4), detail: "", detailParts: [] },
  {
    ...nothing,
    kind: "service",
    name: "shop",
    service: "web",
    state: "unhealthy",
    at: ago(20),
    detail: "GET /health answered 503",
    detailParts: [],
  },
  {
    ...nothing,
    kind: "deploy",
    name: "ledger",
    taskId: failedTask.id,
    state: "failed",
    at: ago(3),
    detail: failedTask.reason,
    detailParts: failedTask.reasonParts,
  },
  { ...nothing, kind: "unsigned", name: "website", at: null, detail: "", detailParts: [] },
];

const brief = { taskId: 29, ref: "refs/heads/main", commit: task.commit, message: task.message };
const people = { author: "ann", by: "ann" };

const homeRow: HomeRow = {
  projectId: 1,
  name: "shop",
  sample: false,
  groupId: 1,
  isBroken: false,
  ref: "main",
  permission: "manage",
  publicUrl: "https://shop.example",
  services: null,
  environments: [],
  live: { ...brief, ...people, since: ago(3), isChecked: true },
  liveNote: "",
  liveNoteParts: [],
  current: null,
  last: { ...brief, ...people, state: "success", at: ago(3), nothingRan: false },
};

/** A project in each state that Home tells apart. */
export const homeRows: HomeRow[] = [
  homeRow,
  {
    ...homeRow,
    projectId: 2,
    name: "ledger",
    isBroken: true,
    publicUrl: "",
    last: { ...brief, ...people, state: "failed", at: ago(3), nothingRan: false },
  },
  {
    ...homeRow,
    projectId: 3,
    name: "website",
    groupId: null,
    current: {
      ...{ ...brief, ...people, taskId: 42, state: "running", stage: "build" },
      ...{ since: ago(1), waiting: undefined, waitingParts: undefined },
    },
  },
  { ...homeRow, projectId: 4, name: "api", services: { total: 2, serving: 1, state: "unhealthy" } },
  {
    ...homeRow,
    projectId: 5,
    name: "an-empty-one-with-a-name-that-is-far-too-long-for-its-column",
    live: null,
    last: null,
    publicUrl: "",
    sample: true,
  },
];

export const requests: Requests["steps"] = memory.map(({ at }, index) => ({
  at,
  count: 40 + 7 * index,
  success: 40 + 6 * index,
  redirect: 0,
  clientError: index % 2,
  serverError: index === 4 ? 3 : 0,
  p50Ms: 12,
  p95Ms: 80 + index,
}));
