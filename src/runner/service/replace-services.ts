import type { Clock } from "../../clock.ts";
import { thrownReason } from "../../errors.ts";
import type { Reason } from "../../reason/reason.ts";
import type { WireService } from "../protocol.ts";
import { failed, type StageEnd } from "../stage/stage-script.ts";
import type { Instance } from "./instance.ts";
import type { DeployEnd, DeployProgress, ServiceRelease } from "./service-release.ts";
import { canceled, startInstance, startInstances, succeeded } from "./start-instances.ts";

/** What a deploy needs of its project. */
export interface Replacement {
  clock: Clock;
  /** What people see, by name. */
  shown: Map<string, Instance>;
  /** Those that the deploy starts and ends now. */
  changing: Set<Instance>;
  create(release: ServiceRelease, service: WireService): Promise<Instance>;
  /** Lets the proxy know the routes of the new services. Null: all can be reached. */
  admit(fresh: Instance[]): Promise<Reason | null>;
  /** The new services take the place of the earlier ones; `ended` have ended already. */
  switchTo(release: ServiceRelease, fresh: Instance[], ended: Instance[]): void;
  /** Writes down that a proxy may ask the new services, or that it does not any more. */
  setSwitching(isSwitching: boolean): void;
  /** Ends an instance and removes all of it. */
  discard(instance: Instance): Promise<void>;
}

/** Starts the services of a release, and lets them take the place of the earlier ones; or leaves those as they were. */
export async function replaceServices(
  release: ServiceRelease,
  progress: DeployProgress,
  { clock, shown, changing, ...project }: Replacement,
  stop: AbortSignal,
): Promise<DeployEnd> {
  const earlier = [...shown.values()];
  const running = earlier.filter((instance) => instance.isAlive());
  const fresh: Instance[] = [];
  const ended: Instance[] = [];
  /** Names of services whose script `switch` has run. */
  const switched: string[] = [];
  let isAnnounced = false;

  async function announce(): Promise<boolean> {
    if (running.length === 0 || isAnnounced) return true;
    isAnnounced = true;
    return progress.replacing();
  }

  async function start(): Promise<StageEnd> {
    for (const service of release.services) fresh.push(await project.create(release, service));
    const beside = fresh.filter(isBeside);
    const others = fresh.filter((instance) => !beside.includes(instance));
    for (const instance of fresh) if (!shown.has(instance.name)) shown.set(instance.name, instance);
    const besideEnd = await startInstances(beside, progress, { clock, stop });
    if (besideEnd.state !== "success") return besideEnd;
    const blocking = inTheWay(others, running);
    if (blocking.length > 0 && !(await announce())) return canceled;
    if (stop.aborted) return canceled;
    ended.push(...blocking);
    for (const instance of blocking) changing.add(instance);
    await Promise.all(blocking.map((instance) => instance.hold().then(instance.stop)));
    for (const instance of others) shown.set(instance.name, instance);
    return startInstances(others, progress, { clock, stop });
  }

  async function runSwitches(): Promise<StageEnd> {
    for (const { name, record } of fresh) {
      if (!hasSwitch(record.service)) continue;
      if (!(await announce())) return canceled;
      if (switched.push(name) === 1) project.setSwitching(true);
      const fault = await progress.runSwitch(record.service, record.port);
      if (fault !== null) return failed(fault);
    }
    if (!(await announce()) || stop.aborted) return canceled;
    // The scripts take time.
    for (const instance of fresh) {
      const fault = await instance.startFault(false);
      if (fault !== null) return failed(fault);
    }
    const fault = await project.admit(fresh);
    return fault === null ? succeeded : failed(fault);
  }

  /**
   * Earlier services that were ended start again, scripts `switch` point to the earlier release, and the new services end.
   * Returns whether all is as before.
   */
  async function goBack(): Promise<boolean> {
    shown.clear();
    for (const instance of earlier) shown.set(instance.name, instance);
    await Promise.all(fresh.filter((instance) => !isBeside(instance)).map(project.discard));
    // Nobody stops this: otherwise nothing would serve.
    const never = { clock, stop: new AbortController().signal };
    const quiet = { line: progress.line, output() {} };
    const ends = await Promise.all(ended.map((instance) => startInstance(instance, quiet, never)));
    let isRestored = ends.every(({ state }) => state === "success");
    for (const { name, record } of earlier) {
      if (!switched.includes(name) || !hasSwitch(record.service)) continue;
      const fault = await progress.runSwitch(record.service, record.port);
      if (fault !== null) progress.line(name, fault);
      isRestored &&= fault === null;
    }
    await Promise.all(fresh.filter(isBeside).map(project.discard));
    if (switched.length > 0) project.setSwitching(false);
    return isRestored;
  }

  const end = await start()
    .then((started) => (started.state === "success" ? runSwitches() : started))
    .catch((error: unknown) => failed(thrownReason(error)));
  if (end.state === "success") {
    project.switchTo(release, fresh, ended);
    return { ...end, earlier: "none" };
  }
  const isRestored = await goBack();
  if (running.length === 0) return { ...end, earlier: "none" };
  const isUntouched = ended.length === 0 && switched.length === 0;
  return { ...end, earlier: isUntouched ? "untouched" : isRestored ? "restored" : "not restored" };
}

/** It starts beside the earlier services. */
function isBeside({ record }: Instance): boolean {
  return record.service.port === "$PORT";
}

function hasSwitch(service: WireService): boolean {
  return service.switch.trim() !== "";
}

/** The earlier services that must end before these start. */
function inTheWay(list: Instance[], earlier: Instance[]): Instance[] {
  const ports = list.flatMap(({ record }) => record.port ?? []);
  const names = list.map(({ name }) => name);
  return earlier.filter(
    ({ name, record }) => names.includes(name) || (record.port !== null && ports.includes(record.port)),
  );
}
