import { networkInterfaces } from "node:os";
import { pause } from "../../clock.ts";
import { ReasonError } from "../../errors.ts";
import { shortCommit } from "../../model/git/short-commit.ts";
import type { HealthCheck } from "../../model/pipeline.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import type { LeftProcesses } from "../process/left-processes.ts";
import { holdersOf, listeningSockets, type PortHolder } from "../process/port-holders.ts";
import { processIds, statusOf, survivorsText } from "../process/process-tree.ts";
import { livingMembers, type StartedService } from "../process/started-service.ts";
import { checkHealth, describeCheck } from "./health-check.ts";
import type { OutputCapture } from "./output-capture.ts";
import {
  failed,
  type OpenStageContext,
  release,
  runCommand,
  type StageCommand,
  type StageContext,
  type StageEnd,
  stoppedEnd,
} from "./stage-script.ts";
import type { Step } from "./step.ts";

/** A start script that has ended, whose service must be proven to run. */
export interface StartToProve {
  step: Step;
  context: OpenStageContext;
  script: StageCommand;
  rules: NonNullable<Step["start"]>;
  check: HealthCheck | null;
  /** Services of earlier tasks. */
  earlier: StartedService[];
}

const settlePollMs = 100;
/** How long a service that has passed its check may take to pass it again. */
const recheckSeconds = 5;

/** The health check, then two proofs: a process of this start is alive, and it is the process that answers. */
export async function prove(
  start: StartToProve,
  before: BeforeStart,
  left: LeftProcesses,
  capture: OutputCapture,
): Promise<StageEnd | null> {
  const { context, step, rules, check } = start;
  if (check) context.log.writeLine(step, `[waiting for ${describeCheck(check)}]`);
  const ill = check ? await checkStarted(start, check, left.haveExited) : null;
  if (!check && left.wereAny) await waitUntil(left.haveExited, rules.settleSeconds * 1000, context);
  const unfit = findFault(start, before, left, capture, ill);
  if (unfit === null && !left.wereAny && !check)
    context.log.writeLine(
      step,
      "[the script left no process in its session and there is no health check: whether the service runs is not known]",
    );
  return unfit;
}

/** What was proven still holds. */
export async function proveAgain(
  start: StartToProve,
  before: BeforeStart,
  left: LeftProcesses,
  capture: OutputCapture,
): Promise<StageEnd | null> {
  const { check } = start;
  const timeoutSeconds = Math.min(check?.timeoutSeconds ?? 0, recheckSeconds);
  const ill = check ? await checkStarted(start, { ...check, timeoutSeconds }, left.haveExited) : null;
  return findFault(start, before, left, capture, ill);
}

/** Why the service does not count as started; null: it does. */
function findFault(
  { context, step, earlier }: StartToProve,
  before: BeforeStart,
  left: LeftProcesses,
  capture: OutputCapture,
  ill: Reason | null,
): StageEnd | null {
  if (context.held.stopped.aborted) return stoppedEnd(step.title, context.held);
  capture.read();
  const held = heldByOthers(before, earlier, left.wereAny && !left.haveDetached());
  const finding = left.haveExited() ? exitedText(held, capture) : held;
  if (finding !== null) return failed(finding);
  return ill === null ? null : failed(ill);
}

/** With the reason why a port is held, which is usually the cause. */
function exitedText(why: Reason | null, capture: OutputCapture): Reason {
  const output = capture.lastLines();
  if (why !== null)
    return output === ""
      ? newReason("held_and_exited_silent", { why })
      : newReason("held_and_exited", { why, output });
  return output === "" ? newReason("processes_exited_silent") : newReason("processes_exited", { output });
}

async function waitUntil(isTrue: () => boolean, ms: number, { held }: StageContext): Promise<void> {
  const endsAt = performance.now() + ms;
  while (!isTrue() && !held.stopped.aborted && performance.now() < endsAt)
    await pause(settlePollMs, held.stopped);
}

/** Null: healthy. */
async function checkStarted(
  { step, context, script }: StartToProve,
  check: HealthCheck,
  hasExited: () => boolean,
): Promise<Reason | null> {
  const { held } = context;
  const found = await checkHealth(check, {
    stop: held.stopped,
    fetch,
    isHopeless: hasExited,
    async runCommand(text, timeoutMs) {
      const command = { ...script, command: ["sh", "-c", text], timeoutMs, mayLeaveProcesses: false };
      const result = await runCommand(step, context, command);
      release(result.tree, context);
      if (result.survivors.length > 0) throw new ReasonError(survivorsText("the check", result.survivors));
      return result.exitCode ?? 1;
    },
  });
  if (found === null) return null;
  return newReason("health_failed", { check: describeCheck(check), seconds: check.timeoutSeconds, found });
}

/** The state before a start script ran. */
export interface BeforeStart {
  /** The local port that the health check uses; null: none. */
  port: number | null;
  /** Start times by process id. */
  processes: Map<number, number>;
  sockets: string[];
}

export function lookBeforeStart(check: HealthCheck | null): BeforeStart {
  const port = localPortOf(check);
  if (port === null) return { port, processes: new Map(), sockets: [] };
  const processes = new Map<number, number>();
  for (const pid of processIds() ?? []) processes.set(pid, Number(statusOf(pid)?.startedAt));
  return { port, processes, sockets: listeningSockets(port) };
}

/**
 * Why the response on the checked port may come from another process than this start's; null: it does not. If the
 * script left no process, its service is managed elsewhere, for example by nginx or systemd: then only services of
 * earlier tasks count.
 */
function heldByOthers(
  before: BeforeStart,
  earlier: StartedService[],
  hasLeftProcesses: boolean,
): Reason | null {
  const { port } = before;
  if (port === null) return null;
  const sockets = listeningSockets(port);
  const holders = holdersOf(sockets).filter(({ pid, startedAt }) => before.processes.get(pid) === startedAt);
  for (const holder of holders) {
    const service = earlier.find((known) => livingMembers(known).includes(holder.pid));
    if (service) return stillHeld(port, service.taskId, service.commit);
  }
  if (!hasLeftProcesses) return null;
  const [holder] = holders;
  if (holder) return describeHolder(port, holder);
  const isUnseen = holdersOf(sockets).length === 0 && sockets.some((inode) => before.sockets.includes(inode));
  return isUnseen ? newReason("port_held_user", { port }) : null;
}

function describeHolder(port: number, { task, name, pid }: PortHolder): Reason {
  if (task?.commit) return stillHeld(port, task.id, task.commit);
  return newReason("port_held_process", { port, name, pid });
}

function stillHeld(port: number, taskId: number, commit: string): Reason {
  return newReason("port_held_task", { port, task: taskId, commit: shortCommit(commit) });
}

function localPortOf(check: HealthCheck | null): number | null {
  if (check?.type === "tcp") return isThisMachine(check.host) ? Number(check.port) : null;
  if (check?.type !== "http" || !URL.canParse(check.url)) return null;
  const { hostname, port, protocol } = new URL(check.url);
  return isThisMachine(hostname) ? Number(port || (protocol === "https:" ? 443 : 80)) : null;
}

function isThisMachine(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "").toLowerCase();
  if (name === "localhost" || name.endsWith(".localhost") || name.startsWith("127.")) return true;
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return ["::1", "::", "0.0.0.0"].includes(name) || own.some(({ address }) => address === name);
}
