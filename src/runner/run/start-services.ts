import { renderReason } from "../../reason/reason.ts";
import type { StageRequest, WireService } from "../protocol.ts";
import type { DeployEnd, ServiceRelease, StartProgress } from "../service/service-release.ts";
import type { Services } from "../service/services.ts";
import { runStep } from "../stage/run-step.ts";
import { stageVariables } from "../stage/script-environment.ts";
import { type StageContext, type StageEnd, stoppedEnd } from "../stage/stage-script.ts";
import type { Step } from "../stage/step.ts";
import type { FormerServices } from "../workspace/former-services.ts";
import { writableOf } from "../workspace/release-folders.ts";

export interface ServiceParts {
  services: Services;
  /** What start scripts of versions before 2.0 have left running. */
  former: FormerServices;
}

type Said = Omit<StageRequest, "taskId" | "attempt" | "lease">;

/** Reports the state of a step. False: the task must not continue. */
export type ReportStep = (said: Said) => Promise<boolean>;

export interface StartContext extends StageContext, ServiceParts {
  report: ReportStep;
}

/** Makes the services of a release those that serve. Each is a step of the stage `start`. */
export async function startServices(services: WireService[], context: StartContext): Promise<DeployEnd> {
  const { held, former, report, begun } = context;
  const stopped = (): DeployEnd => ({ ...stoppedEnd("start", held), earlier: "untouched" });
  const [first] = services;
  const replacing = async () => {
    begun();
    if (first === undefined) return !held.stopped.aborted;
    return report({ stage: "start", step: first.name, state: "running", exitCode: null, endsPrevious: true });
  };
  const mustStopFirst = former.areAny() && services.some(({ port }) => port !== "$PORT");
  if (mustStopFirst && !(await replacing())) return stopped();
  if (mustStopFirst) await former.end();
  const progress = {
    ...startProgress(context),
    replacing,
    async runSwitch(service: WireService, port: number | null) {
      begun();
      const end = await runStep(switchStep(service, context), withPort(context, service, port));
      return end.state === "success" ? null : end.reason;
    },
  };
  const end = await context.services.deploy(releaseOf(services, context), progress, held.stopped);
  if (end.state === "success") await former.end();
  return end.state === "canceled" ? { ...end, ...stoppedEnd("start", held) } : end;
}

/** Reports each start as a step, and writes what the service prints until its check has passed to the log of the task. */
export function startProgress({ log, report }: Pick<StartContext, "log" | "report">): StartProgress {
  const ports = new Map<string, number | null>();
  const outputs = new Map<string, ReturnType<typeof log.stepOutput>>();
  const place = (name: string) => ({ stage: "start" as const, name });
  const outputOf = (name: string) => {
    const output = outputs.get(name) ?? log.stepOutput(place(name));
    outputs.set(name, output);
    return output;
  };
  return {
    begin(name, port) {
      ports.set(name, port);
      return report({ stage: "start", step: name, state: "running", exitCode: null });
    },
    async end(name, { state, exitCode }: StageEnd) {
      outputs.get(name)?.end();
      outputs.delete(name);
      const port = ports.get(name) ?? null;
      if (state === "success")
        log.writeLine(place(name), `[${name} serves${port === null ? "" : ` on port ${port}`}]`);
      await report({ stage: "start", step: name, state, exitCode });
    },
    line: (name, text) => log.writeLine(place(name), `[${renderReason(text)}]`),
    output: (name, bytes) => outputOf(name).write(bytes),
  };
}

function releaseOf(services: WireService[], context: StartContext): ServiceRelease {
  const { instruction, checkedOut, workspace, writable } = context;
  const { projectId, taskId, resources, secrets, deploySecrets = {}, files } = instruction;
  const place = { stage: "start", step: "", workspace: workspace.source };
  return {
    ...{ projectId, taskId, resources, services, files },
    commit: checkedOut.commit,
    workspace: workspace.folder,
    source: workspace.source,
    isReadOnly: instruction.folders.sealed,
    writable: writable.map(writableOf),
    variables: stageVariables(instruction, checkedOut, place),
    secrets: Object.keys({ ...secrets, ...deploySecrets }),
  };
}

function switchStep(service: WireService, { instruction }: StartContext): Step {
  const { name, directory, image, network } = service;
  return {
    ...{ name, directory, image, network, script: service.switch, host: service.switchOnHost },
    ...{
      stage: "start",
      title: `the switch script of ${name}`,
      timeoutMs: instruction.limits.checkoutTimeoutMs,
    },
    ...{ onRollback: false, once: false, pause: false, check: null },
  };
}

function withPort(context: StartContext, service: WireService, port: number | null): StartContext {
  const { instruction } = context;
  const env = { ...instruction.env, ...service.env, ...(port === null ? {} : { PORT: String(port) }) };
  return { ...context, instruction: { ...instruction, env } };
}
