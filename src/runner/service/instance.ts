import { closeSync, openSync, readSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { type Clock, machineClock } from "../../clock.ts";
import { messageOf, thrownReason } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { ServiceReport } from "../../model/service/service.ts";
import { newReason, type Reason, renderReason } from "../../reason/reason.ts";
import type { FileCalls } from "../../system/file-calls.ts";
import { type KeeperState, openKeeper } from "../keeper/keeper.ts";
import { type ProcessTable, processesOf, readProcessTable } from "../keeper/process-table.ts";
import { readSockets, type Sockets } from "../keeper/sockets.ts";
import { buildMasker } from "../log/masker.ts";
import { describeCheck, fillCheck } from "../stage/check.ts";
import type { Execution } from "../stage/execution.ts";
import { removeFolder } from "../workspace/remove-folder.ts";
import { containerProcess, imageIdOf } from "./container-image.ts";
import {
  type InstanceRecord,
  prepareInstance,
  retireInstance,
  writeInstance,
  writeInstanceFiles,
} from "./instance-folder.ts";
import { openPortFile } from "./port-file.ts";
import type { PreparedService } from "./prepare-service.ts";
import { lastLines, type OutputPart } from "./read-output.ts";
import { type Figures, openFigures } from "./service-figures.ts";
import { checkService, runBeside } from "./service-health.ts";
import { type OutputBounds, openOutput } from "./service-output.ts";
import { foreignListener } from "./service-ports.ts";
import { openStatus } from "./service-status.ts";

export interface InstanceParts {
  execution: Execution;
  calls: FileCalls;
  clock: Clock;
  log: Logger;
  /** The runner's own environment. */
  own: Record<string, string | undefined>;
  bounds: OutputBounds;
  /** Something of the report has changed. */
  changed(): void;
}

/** Between two checks: until the first one has passed, and afterwards. */
const startingCheckMs = 250;
const servingCheckMs = 30_000;
const failuresMax = 3;
/** A service without a check serves when it has lived for this long; when it was started again, sooner. */
const settleMs = 5000;
const settleAgainMs = 500;
const lastLinesMax = 12;
const lastLinesMaxLength = 4000;
/** How long a service may take to listen after its check has passed, and to answer its open requests before it ends. */
const listenPatienceMs = 10_000;
const finishPatienceMs = 5000;
const switchTimeoutMs = 60_000;
const followMaxBytes = 256 * 1024;

const copyOf = ({ boot, child }: KeeperState) => `${boot} ${child.pid} ${child.startedAt}`;

/** A service of a release on this machine, with its keeper. */
export function openInstance(folder: string, first: InstanceRecord, parts: InstanceParts) {
  const { calls, clock, execution } = parts;
  let record = first;
  const { service } = record;
  const keeper = openKeeper(folder, calls);
  const output = openOutput(folder, parts);
  const secretValues = record.secrets.map((name) => record.variables[name] ?? "");
  const masker = buildMasker(secretValues);
  const status = openStatus(join(folder, "status.json"), parts);
  const { change } = status;
  const portFile =
    record.port === null || service.routes.length === 0 ? null : openPortFile(folder, record.port);
  let fault: Reason = "";
  let failures = 0;
  let nextCheckAt = 0;
  let checking: Promise<void> | null = null;
  let seenExit = 0;
  let known: KeeperState | null = null;
  /** First process of the container, and of which copy. */
  let inContainer: { copy: string; pid: number | null } = { copy: "", pid: null };
  const figures = openFigures();

  const part = (): OutputPart => ({ output, masker, isGrowing: keeper.isAlive() });
  const prepare = (): PreparedService => prepareInstance(folder, record, parts);
  const rules = () => ({
    restart: service.restart,
    graceSeconds: service.stopGrace,
    outputMaxBytes: parts.bounds.maxBytes,
  });

  let turn: Promise<unknown> = Promise.resolve();
  /** Starts and stops follow one another. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = turn.then(work);
    turn = result.catch(() => {});
    return result;
  }

  /** Writes all files and starts the keeper. Throws if the service cannot run here. */
  async function start(stop: AbortSignal, line: (text: string) => void): Promise<void> {
    let prepared = prepare();
    if (prepared.container !== null && record.imageId === "") {
      const imageId = await imageIdOf(prepared.container, { line, stop });
      record = { ...record, imageId };
      writeInstance(folder, record);
      prepared = prepare();
    }
    writeInstanceFiles(folder, record, execution.user);
    const now = clock.now();
    known = null;
    seenExit = 0;
    failures = 0;
    fault = "";
    change({ state: "starting", since: now, startedAt: now, copy: "", lastLines: "" });
    portFile?.begin();
    await keeper.start(prepared, rules());
  }

  /** Null: it has none, or cannot be prepared any more, such as one whose engine is gone. */
  function ownContainer(): PreparedService["container"] {
    try {
      return prepare().container;
    } catch {
      return null;
    }
  }

  /** Its processes: those that its keeper has started. Empty: none runs. */
  function processes(table: ProcessTable): Set<number> {
    if (known?.phase !== "running") return new Set();
    const root = inContainer.copy === copyOf(known) ? inContainer.pid : known.child.pid;
    return root === null ? new Set() : processesOf(root, table);
  }

  /** Null: healthy. */
  async function findFault(state: KeeperState): Promise<Reason | null> {
    if (service.check === null) {
      const wantedMs = state.restarts > 0 ? settleAgainMs : settleMs;
      return sinceBoot() - state.started * 1000 >= wantedMs ? null : "";
    }
    return checkService(folder, record, prepare(), () => processes(readProcessTable()));
  }

  async function check(state: KeeperState): Promise<void> {
    const found = await findFault(state).catch(thrownReason);
    // It has ended, or was started again, meanwhile.
    if (known === null || known.phase !== "running" || copyOf(known) !== copyOf(state)) return;
    const isUp = status.now().state === "serving" || status.now().state === "unhealthy";
    if (found === null) {
      failures = 0;
      fault = "";
      change({ state: "serving" });
    } else if (isUp) {
      failures += 1;
      fault = found;
      if (failures >= failuresMax) change({ state: "unhealthy" });
    } else {
      fault = found;
      const withinMs = (service.check?.within ?? 0) * 1000;
      const isLate = sinceBoot() - state.started * 1000 > withinMs;
      if (service.check !== null && isLate) change({ state: "unhealthy" });
    }
    const isProven = found === null || status.now().state === "unhealthy" || status.now().state === "serving";
    nextCheckAt = clock.elapsed() + (isProven && service.check !== null ? servingCheckMs : startingCheckMs);
    if (service.check === null && found === null) nextCheckAt = Number.POSITIVE_INFINITY;
  }

  /** Why its port is not its own; null: it is. The engine publishes a port of a container only if nobody else has it. */
  const foreignPort = (port: number): Reason | null =>
    prepare().kind === "container" ? null : foreignListener(port, processes(readProcessTable()));

  /** Lets requests reach it as long as it listens. */
  function showPort(sockets: Sockets): void {
    if (portFile === null || record.port === null) return;
    const { port } = record;
    const { state, since } = status.now();
    portFile.look(state, clock.now() - since, sockets, () => foreignPort(port) === null);
  }

  /** Waits until requests can reach a service with routes. Null: they can. */
  async function becomeReachable(): Promise<Reason | null> {
    const { port } = record;
    if (portFile === null || port === null) return null;
    const giveUpAt = clock.elapsed() + listenPatienceMs;
    for (;;) {
      showPort(readSockets());
      if (portFile.isShown()) return null;
      if (clock.elapsed() > giveUpAt) return foreignPort(port) ?? newReason("port_not_own", { port });
      await Bun.sleep(startingCheckMs);
    }
  }

  /** New requests wait; those that it has are given a short time to end. */
  async function hold(): Promise<void> {
    const { port } = record;
    if (portFile === null || port === null) return;
    portFile.hold();
    const giveUpAt = clock.elapsed() + finishPatienceMs;
    while (readSockets().connections(port) > 0 && clock.elapsed() < giveUpAt)
      await Bun.sleep(startingCheckMs);
  }

  /** Points a proxy to it once more. Returns whether its script succeeded. */
  async function switchAgain(): Promise<boolean> {
    if (service.switch.trim() === "") return true;
    try {
      const prepared = prepareInstance(folder, record, parts, { isOnHost: service.switchOnHost });
      return (await runBeside(folder, prepared, service.switch, switchTimeoutMs)) === 0;
    } catch (error) {
      parts.log.error({ folder, error: messageOf(error) }, "a switch script was not run");
      return false;
    }
  }

  async function noteExit(): Promise<void> {
    const lines = await ownLastLines().catch(() => "");
    change({ lastLines: lines });
  }

  /** Takes notice of what has changed. `lost`: its keeper was killed, or the machine was started again. */
  function look(): "kept" | "lost" | "ended" {
    const isAlive = keeper.isAlive();
    const state = keeper.state();
    const exit = state?.exits.at(-1) ?? 0;
    if (exit !== seenExit) {
      seenExit = exit;
      void noteExit();
    }
    if (
      state !== null &&
      copyOf(state) !== (known ? copyOf(known) : status.now().copy) &&
      state.child.pid > 0
    ) {
      output.look();
      output.mark("start", record.taskId);
      const isAgain = state.restarts > 0;
      change({
        copy: copyOf(state),
        ...(state.phase === "running" ? { state: isAgain ? "restarting" : "starting" } : {}),
      });
      nextCheckAt = 0;
    }
    known = isAlive ? state : null;
    if (!isAlive) {
      if (state?.phase === "ended") change({ state: "down" });
      return state?.phase === "ended" ? "ended" : "lost";
    }
    if (state === null) return "kept";
    if (state.phase === "waiting") change({ state: "restarting" });
    if (state.phase === "running" && checking === null && clock.elapsed() >= nextCheckAt)
      checking = check(state).finally(() => {
        checking = null;
      });
    return "kept";
  }

  const ownLastLines = () => lastLines(part(), output.base(), lastLinesMax, lastLinesMaxLength);

  /** Why its start has failed; null: it has not, yet. */
  async function startFault(isLate: boolean): Promise<Reason | null> {
    const { name } = service;
    const state = keeper.state();
    if ((state?.exits.length ?? 0) > 0 || !keeper.isAlive()) {
      const code = state?.last == null ? "?" : exitText(state.last);
      const printed = await ownLastLines();
      const ended =
        printed === ""
          ? newReason("service_exited_silent", { name, code })
          : newReason("service_exited", { name, code, output: printed });
      // A port that another program holds is usually the cause.
      return typeof fault === "string" ? ended : [fault, ended].flat();
    }
    if (!isLate || service.check === null) return null;
    const printed = await ownLastLines();
    const check = describeCheck(fillCheck(service.check, record.variables, record.port));
    const values = { name, check, seconds: service.check.within, found: fault };
    return printed === ""
      ? newReason("service_check_failed_silent", values)
      : newReason("service_check_failed", { ...values, output: printed });
  }

  async function stop(): Promise<void> {
    await keeper.stop(ownContainer(), service.stopGrace);
    known = null;
    inContainer = { copy: "", pid: null };
  }

  return {
    folder,
    output,
    look,
    start: (...given: Parameters<typeof start>) => inTurn(() => start(...given)),
    /** Starts it if that is still wanted when its turn has come. */
    startIf: (isWanted: () => boolean, ...given: Parameters<typeof start>) =>
      inTurn(async () => (isWanted() ? start(...given) : undefined)),
    stop: () => inTurn(stop),
    portFile: portFile?.file ?? null,
    showPort,
    becomeReachable,
    /** It serves, but requests do not reach it yet. */
    isHidden: () => status.now().state === "serving" && portFile?.isShown() === false,
    hold,
    switchAgain,
    part,
    get record(): InstanceRecord {
      return record;
    },
    name: service.name,
    state: () => status.now().state,
    isAlive: keeper.isAlive,
    keeperState: keeper.state,
    setStopped: () => change({ state: "stopped" }),
    /** It cannot be started. */
    setDown(why: Reason): void {
      fault = why;
      change({ state: "down" });
    },
    /** Ends it, and keeps only its output. */
    retire: () =>
      inTurn(async () => {
        await stop();
        await retireInstance(folder, record);
      }),
    remove: () =>
      inTurn(async () => {
        await stop();
        await removeFolder(folder);
      }),
    /** New output from this offset of the file on; of much, only the end. */
    outputFrom(offset: number): { bytes: Uint8Array; next: number } {
      output.look();
      const end = output.to() - output.base();
      const from = Math.max(offset, end - followMaxBytes);
      const buffer = Buffer.alloc(Math.max(0, end - from));
      const descriptor = openSync(output.file, "r");
      try {
        const count = readSync(descriptor, buffer, 0, buffer.length, from);
        return { bytes: buffer.subarray(0, count), next: from + count };
      } finally {
        closeSync(descriptor);
      }
    },
    /** Measures memory and processor time. */
    measure(table: ProcessTable): void {
      if (known === null) {
        figures.clear();
        return;
      }
      const copy = copyOf(known);
      const container = ownContainer();
      if (container !== null && inContainer.copy !== copy) {
        inContainer = { copy, pid: null };
        void containerProcess(container.engine, container.name).then((pid) => {
          inContainer = { copy, pid };
        });
      }
      figures.measure(processes(table), table, keeper.group());
    },
    report(): ServiceReport {
      const state = keeper.state();
      const measured: Figures = figures.last();
      const { projectId, taskId, port } = record;
      return {
        projectId,
        taskId,
        port,
        name: service.name,
        state: status.now().state,
        since: new Date(status.now().since).toISOString(),
        startedAt: new Date(status.now().startedAt).toISOString(),
        restarts: state?.restarts ?? 0,
        exits: (state?.exits ?? []).map((at) => timeOf(at, clock)),
        lastExit: state?.last == null ? null : exitText(state.last),
        fault:
          status.now().state === "unhealthy" || status.now().state === "down"
            ? masker.text(renderReason(fault)).slice(0, 2000)
            : "",
        lastLines: status.now().lastLines,
        memoryBytes: measured.memoryBytes,
        cpu: measured.cpu,
        output: { from: output.from(), to: output.to() },
        routes: [],
        requests: null,
      };
    },
    startFault,
  };
}
export type Instance = ReturnType<typeof openInstance>;

const machine = machineClock();
/** Milliseconds since the start of the machine. */
const sinceBoot = () => machine?.elapsed() ?? 0;

function timeOf(bootSeconds: number, clock: Clock): string {
  return new Date(clock.now() - sinceBoot() + bootSeconds * 1000).toISOString();
}

/** A shell reports the end by a signal as 128 and its number. */
function exitText(code: number): string {
  const signal = Object.entries(constants.signals).find(([, number]) => code > 128 && number === code - 128);
  return signal?.[0] ?? String(code);
}
