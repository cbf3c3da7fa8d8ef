import { newReason, type Reason } from "../../reason/reason.ts";
import { type Pipeline, type Step, stepDefaults } from "../pipeline.ts";
import { completeService, type Service, type ServiceCheck } from "../service/service.ts";
import type { HealthCheck, StartRules } from "./start-rules.ts";
import { classifyStart } from "./start-script.ts";

/* A start stage of version 1.0 and what it is now: steps, or one service. */

export type StartStage = Pick<Step, "script" | "timeout" | "directory" | "image" | "network"> & StartRules;

/** The name of the service of a start stage. */
export const stageService = "web";

export const startStageDefaults: StartStage = {
  script: "",
  timeout: null,
  directory: "",
  image: "",
  network: "bridge",
  healthCheck: null,
  previous: "stop-first",
  settleSeconds: 5,
  log: "",
  switch: "",
};

/** What a start stage starts. What its fields say of a service is lost for a script that leaves none. */
export function startOf(stage: StartStage): Pipeline["start"] {
  const { script, timeout, directory, image, network, healthCheck, previous } = stage;
  const found = classifyStart(script);
  const check = healthCheck && checkOf(healthCheck);
  if (found.kind === "empty" || found.kind === "step") {
    const step = { ...stepDefaults, name: "start", script, timeout, directory, image, network, check };
    return isSame(step, { ...stepDefaults, name: "start" }) ? [] : [step];
  }
  const isBeside = previous === "stop-after-healthy";
  const service: Service = {
    ...completeService({ directory, image, network, check }),
    command: found.kind === "command" ? found.command : script,
    background: found.kind === "background",
    port: isBeside ? "$PORT" : localPort(healthCheck),
    switch: isBeside ? stage.switch : "",
  };
  return { [stageService]: service };
}

/** Null: version 1.0 could not say it. */
export function stageOf(start: Pipeline["start"]): StartStage | null {
  const stage = Array.isArray(start) ? stageOfSteps(start) : stageOfServices(start);
  // Whatever would be lost on the way back cannot be said.
  return stage !== null && isSame(startOf(stage), start) ? stage : null;
}

function stageOfSteps([step]: Step[]): StartStage | null {
  if (step === undefined) return startStageDefaults;
  const { script, timeout, directory, image, network, check } = step;
  const healthCheck = check && healthCheckOf(check);
  if (healthCheck === undefined) return null;
  return { ...startStageDefaults, script, timeout, directory, image, network, healthCheck };
}

function stageOfServices(services: Record<string, Service>): StartStage | null {
  const service = services[stageService];
  if (service === undefined) return null;
  const { command, background, directory, image, network, check, port } = service;
  const healthCheck = check && healthCheckOf(check);
  if (healthCheck === undefined) return null;
  return {
    ...{ ...startStageDefaults, directory, image, network, healthCheck },
    script: background ? command : `${command} &`,
    previous: port === "$PORT" ? "stop-after-healthy" : "stop-first",
    switch: service.switch,
  };
}

interface StageFault {
  path: (keyof StartStage)[];
  message: Reason;
}

/** What a start stage of a body says that is no more. */
export function startStageFaults(stage: StartStage): StageFault[] {
  const { kind } = classifyStart(stage.script);
  const hasService = kind === "command" || kind === "background";
  const isBeside = stage.previous === "stop-after-healthy";
  const faults: StageFault[] = [];
  if (stage.previous === "keep" && hasService)
    faults.push({ path: ["previous"], message: newReason("previous_keep") });
  if (isBeside && !hasService) faults.push({ path: ["previous"], message: newReason("previous_step") });
  if (stage.switch.trim() !== "" && !isBeside)
    faults.push({ path: ["switch"], message: newReason("stage_switch_alone") });
  if (stage.log !== "") faults.push({ path: ["log"], message: newReason("log_gone") });
  if (stage.settleSeconds !== startStageDefaults.settleSeconds)
    faults.push({ path: ["settleSeconds"], message: newReason("settle_gone") });
  return faults;
}

function checkOf(check: HealthCheck): ServiceCheck {
  const asked = { http: "", tcp: "", command: "", expect: "", within: check.timeoutSeconds };
  if (check.type === "command") return { ...asked, command: check.command };
  if (check.type === "http") return { ...asked, http: check.url, expect: check.expect ?? "" };
  const host = check.host.includes(":") ? `[${check.host}]` : check.host;
  return { ...asked, tcp: `${host}:${check.port}` };
}

/** Undefined: version 1.0 could not say it. */
function healthCheckOf({ http, tcp, command, expect, within }: ServiceCheck): HealthCheck | undefined {
  if (within === 0) return undefined;
  const timeoutSeconds = within;
  if (command !== "") return { type: "command", command, timeoutSeconds };
  if (http !== "" && !http.startsWith("/"))
    return { type: "http", url: http, timeoutSeconds, ...(expect === "" ? {} : { expect }) };
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:[]+)):(\d+|\$PORT)$/.exec(tcp) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined) return undefined;
  return { type: "tcp", host, port: port === "$PORT" ? port : Number(port), timeoutSeconds };
}

const localHosts = new Set(["127.0.0.1", "localhost", "0.0.0.0", "[::1]", "::1", "[::]", "::"]);

/** The port of a check of this machine; without one the runner need not know. */
function localPort(check: HealthCheck | null): Service["port"] {
  if (check?.type === "tcp" && localHosts.has(check.host) && check.port !== "$PORT") return check.port;
  if (check?.type !== "http" || !URL.canParse(check.url)) return "none";
  const { hostname, port, protocol } = new URL(check.url);
  if (!localHosts.has(hostname)) return "none";
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

function isSame(one: unknown, other: unknown): boolean {
  return Bun.deepEquals(one, other);
}
