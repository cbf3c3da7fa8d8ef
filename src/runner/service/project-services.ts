import { closeSync, mkdirSync, openSync } from "node:fs";
import { basename, join } from "node:path";
import { messageOf, thrownReason } from "../../errors.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import { recentSockets, type Sockets } from "../keeper/sockets.ts";
import type { WireService } from "../protocol.ts";
import type { ShownRoute } from "../route/route-folder.ts";
import type { Routes } from "../route/routes.ts";
import { servedRoutes } from "../route/served-route.ts";
import { failed, type StageEnd } from "../stage/stage-script.ts";
import { foldersIn } from "../workspace/folders.ts";
import { removeFolder } from "../workspace/remove-folder.ts";
import { type Instance, type InstanceParts, openInstance } from "./instance.ts";
import {
  createInstanceFolder,
  type InstanceRecord,
  instanceFoldersIn,
  readInstance,
  writeInstance,
} from "./instance-folder.ts";
import { openKeptOutput } from "./kept-output.ts";
import { replaceServices } from "./replace-services.ts";
import type { DeployProgress, ServiceRelease, StartProgress } from "./service-release.ts";
import { startInstances, succeeded } from "./start-instances.ts";
import { openWanted } from "./wanted-services.ts";

export interface ProjectParts extends InstanceParts {
  /** Folder of all services of the runner. */
  root: string;
  routes: Pick<Routes, "admit" | "show" | "settleMs">;
  /** Chooses a port, and has it written down. */
  reservePort(record: (port: number) => void): Promise<number>;
}

const pollEveryMs = 100;
const retryFirstMs = 1000;
const retryMaxMs = 60_000;
const idleLooksMax = 2;
/** How old what is known of sockets may be: while something changes, and otherwise. */
const urgentMs = 200;
const calmMs = 2000;

/** An instance that ends when its time is over, or earlier. */
interface Draining {
  timer: Timer;
  now(): Promise<void>;
  since: number;
  /** How often in a row it had no connection. */
  idleLooks: number;
}

/** Only a service that starts beside the next one has connections to keep: any other ends with the switch. */
function drainMsOf({ service }: InstanceRecord): number {
  return service.port === "$PORT" ? service.drain * 1000 : 0;
}

/** The services of one project on this runner. */
export function openProject(projectId: number, parts: ProjectParts) {
  const { root, calls, clock, log } = parts;
  const folder = join(root, String(projectId));
  const wanted = openWanted(join(folder, "wanted.json"));
  /** All instances that may run, by folder. */
  const instances = new Map<string, Instance>();
  /** What people see, by name. */
  const shown = new Map<string, Instance>();
  /** When an instance that could not be started is tried again. */
  const retries = new Map<Instance, { at: number; waitMs: number }>();
  /** The ends that the next change waits for. */
  const ending = new Set<Promise<void>>();
  const draining = new Map<Instance, Draining>();
  /** Those that a deploy or a person starts and ends now. */
  const changing = new Set<Instance>();
  const output = openKeptOutput({ root, projectId, instances }, parts);
  /** `waiting`: a change waits for another process of this runner's folder, or for the end of what it must not run beside. */
  let change: "none" | "waiting" | "running" = "none";
  let last: Promise<unknown> = Promise.resolve();
  /** Commands of people that run in the release. */
  let commands = 0;
  /** Commands wait: the change that runs now needs that nothing else does. */
  let isIdle = false;

  function opened(at: string, record: InstanceRecord): Instance {
    const instance = instances.get(at) ?? openInstance(at, record, parts);
    instances.set(at, instance);
    return instance;
  }

  function forget(instance: Instance): void {
    instances.delete(instance.folder);
    retries.delete(instance);
    clearTimeout(draining.get(instance)?.timer);
    draining.delete(instance);
  }

  /** One change at a time, also of other processes of this runner's folder: an earlier runner may finish its tasks. */
  function exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = last.then(async () => {
      mkdirSync(folder, { recursive: true, mode: 0o711 });
      const lock = openSync(join(folder, "project.lock"), "a", 0o600);
      change = "waiting";
      try {
        while (!calls.lock(lock)) await Bun.sleep(pollEveryMs);
        wanted.read();
        reconcile();
        await Promise.all(ending);
        change = "running";
        return await work();
      } finally {
        closeSync(lock);
        changing.clear();
        change = "none";
      }
    });
    last = result.catch(() => {});
    return result;
  }

  /** Adopts the instances that should run, and ends those that should not, except those that a proxy may ask. */
  function reconcile(): void {
    for (const name of foldersIn(folder))
      for (const at of instanceFoldersIn(root, projectId, name)) {
        const record = readInstance(at);
        if (record?.isRetired) continue;
        if (record !== null && wanted.has(name, at)) shown.set(name, opened(at, record));
        else if (record === null) void removeFolder(at);
        else if (wanted.isSwitching() && record.service.port === "$PORT") opened(at, record);
        else leave(opened(at, record), drainLeftMs(record));
      }
    for (const [name, instance] of shown) if (!wanted.has(name, instance.folder)) shown.delete(name);
    parts.routes.show(projectId, routesOf(shown.values()));
  }

  function routesOf(list: Iterable<Instance>): ShownRoute[] {
    return [...list].flatMap(({ portFile, record }) =>
      portFile === null ? [] : servedRoutes(projectId, record.service).map((route) => ({ route, portFile })),
    );
  }

  async function admit(fresh: Instance[]): Promise<Reason | null> {
    for (const instance of fresh) {
      const fault = await instance.becomeReachable();
      if (fault !== null) return fault;
    }
    return parts.routes.admit(projectId, routesOf(fresh));
  }

  function drainLeftMs(record: InstanceRecord): number {
    return Math.max(0, (wanted.now()?.at ?? 0) + drainMsOf(record) - clock.now());
  }

  /** Ends an instance in the background, now or later. */
  function leave(instance: Instance, afterMs: number): void {
    if (draining.has(instance)) return;
    const end = async () => {
      try {
        await instance.retire();
        forget(instance);
      } catch (error) {
        log.error({ folder: instance.folder, error: messageOf(error) }, "a service could not be ended");
        draining.delete(instance);
      }
    };
    const ended = Promise.withResolvers<void>();
    let isEnding = false;
    const now = () => {
      if (!isEnding) void end().finally(ended.resolve);
      isEnding = true;
      return ended.promise;
    };
    draining.set(instance, { timer: setTimeout(now, afterMs), now, since: clock.elapsed(), idleLooks: 0 });
    // It must not run beside the one that takes its place.
    if (afterMs > 0 || instance.record.service.port === "$PORT") return;
    ending.add(ended.promise);
    void ended.promise.then(() => ending.delete(ended.promise));
  }

  /** Ends those whose last connection has ended. The proxy may still open one for a request that it had before the switch. */
  function endIdle(sockets: Sockets): void {
    for (const [instance, each] of draining) {
      const { port } = instance.record;
      if (instance.portFile === null || port === null || each.idleLooks > idleLooksMax) continue;
      if (clock.elapsed() - each.since < parts.routes.settleMs()) continue;
      each.idleLooks = sockets.connections(port) === 0 ? each.idleLooks + 1 : 0;
      if (each.idleLooks <= idleLooksMax) continue;
      clearTimeout(each.timer);
      void each.now();
    }
  }

  /** What may write to the data of the project. Null: nothing, also no instance that drains, because those are ended. */
  async function writer(): Promise<Reason | null> {
    await Promise.all([...draining.values()].map(({ now }) => now()));
    const running = [...instances.values()].find(
      (instance) =>
        instance.isAlive() || (shown.get(instance.name) === instance && instance.state() !== "stopped"),
    );
    if (running !== undefined) return newReason("transfer_data_in_use", { service: running.name });
    return commands > 0 ? newReason("transfer_data_command") : null;
  }

  async function whileIdle<T>(work: (writer: Reason | null) => Promise<T>): Promise<T> {
    isIdle = true;
    try {
      return await work(await writer());
    } finally {
      isIdle = false;
    }
  }

  async function command<T>(stop: AbortSignal, work: () => Promise<T>): Promise<T> {
    while (isIdle && !stop.aborted) await Bun.sleep(pollEveryMs);
    commands += 1;
    try {
      return await work();
    } finally {
      commands -= 1;
    }
  }

  /** Starts an instance whose keeper was killed, or ended with the machine. Failures are its state. */
  async function revive(instance: Instance): Promise<void> {
    const { name } = instance;
    const isWanted = () =>
      shown.get(name) === instance &&
      wanted.has(name, instance.folder) &&
      !wanted.isStopped(name) &&
      !changing.has(instance) &&
      instance.look() === "lost";
    if (!isWanted()) return;
    const waitMs = Math.min((retries.get(instance)?.waitMs ?? retryFirstMs / 2) * 2, retryMaxMs);
    retries.set(instance, { at: clock.elapsed() + waitMs, waitMs });
    try {
      const stop = AbortSignal.timeout(retryMaxMs);
      await instance.startIf(isWanted, stop, (line) => log.info({ projectId }, line));
    } catch (error) {
      instance.setDown(thrownReason(error));
      log.error({ projectId, service: instance.name, error: messageOf(error) }, "a service was not started");
    }
  }

  /** One whose files cannot be read, or are just removed, must not keep the others from being looked at. */
  function lookAt(instance: Instance): ReturnType<Instance["look"]> {
    try {
      return instance.look();
    } catch (error) {
      log.debug({ folder: instance.folder, error: messageOf(error) }, "a service was not looked at");
      return "kept";
    }
  }

  /** A look at all instances. */
  function look(): void {
    // While it switches, another process of this runner's folder has services that nobody else knows.
    if (change === "none" && wanted.read() && !wanted.isSwitching()) reconcile();
    const routed = [...instances.values()].filter(({ portFile }) => portFile !== null);
    const isUrgent = draining.size > 0 || routed.some((instance) => instance.isHidden());
    const sockets = routed.length > 0 ? recentSockets(isUrgent ? urgentMs : calmMs) : null;
    for (const instance of instances.values()) {
      const isLost = lookAt(instance) === "lost";
      if (instance.state() === "serving") retries.delete(instance);
      if (shown.get(instance.name) !== instance || changing.has(instance)) continue;
      if (wanted.isStopped(instance.name)) instance.setStopped();
      else if (isLost && change !== "waiting" && clock.elapsed() >= (retries.get(instance)?.at ?? 0))
        // A change of its own: another process of this runner's folder may be about to replace it.
        void (change === "running" ? revive(instance) : exclusive(() => revive(instance)));
    }
    if (sockets === null) return;
    for (const instance of routed) instance.showPort(sockets);
    endIdle(sockets);
  }

  async function resume(): Promise<void> {
    for (const [name, instance] of shown) if (wanted.isStopped(name)) instance.setStopped();
    await Promise.all([...shown.values()].map(revive));
    if (wanted.isSwitching()) await switchBack();
  }

  /** A runner was killed while scripts `switch` ran. The release that should serve gets its proxy back; then the other ends. */
  async function switchBack(): Promise<void> {
    for (const instance of shown.values())
      if (!(await instance.switchAgain())) {
        log.error({ projectId, service: instance.name }, "the switch script failed: both releases go on");
        return;
      }
    wanted.setSwitching(false);
    reconcile();
  }

  async function create(release: ServiceRelease, service: WireService): Promise<Instance> {
    const { services: _all, variables, ...ofRelease } = release;
    const ci = Object.entries(variables).filter(([name]) => name === "CI" || name.startsWith("CI_"));
    const record: InstanceRecord = {
      ...ofRelease,
      service,
      port: typeof service.port === "number" ? service.port : null,
      variables: {
        ...variables,
        ...service.env,
        ...Object.fromEntries(ci),
        CI_STAGE: "start",
        CI_STEP: service.name,
      },
      imageId: "",
      isRetired: false,
    };
    const earlier = output.of(service.name).at(-1);
    earlier?.output.look();
    const at = createInstanceFolder(root, record);
    const write = (port: number | null) => {
      record.port = port;
      if (port !== null) record.variables = { ...record.variables, PORT: String(port) };
      writeInstance(at, record);
    };
    if (service.port === "$PORT") await parts.reservePort(write);
    else write(record.port);
    const instance = opened(at, record);
    changing.add(instance);
    instance.output.begin(earlier?.output.to() ?? 0, release.taskId);
    return instance;
  }

  /**
   * The files with the ports are written and the proxy knows all routes, those of both releases. A runner that is killed between
   * two of these steps leaves a complete state, and the next one (`reconcile`) goes on from there:
   * 1. `wanted.json` is replaced. Until now the earlier release serves and should.
   * 2. The link of the routes is replaced. Until now the earlier release serves, and ends only when a runner ends it.
   * 3. The earlier services are left, and the proxy forgets routes that no release has.
   */
  function switchTo(release: ServiceRelease, fresh: Instance[], ended: Instance[]): void {
    const { taskId, commit, workspace } = release;
    const services = fresh.map(({ name, folder: at }) => ({
      name,
      instance: basename(at),
      isStopped: false,
    }));
    const earlier = [...instances.values()].filter(
      (instance) => !fresh.includes(instance) && !draining.has(instance),
    );
    wanted.write(services.length === 0 ? null : { taskId, commit, workspace, at: clock.now(), services });
    shown.clear();
    for (const instance of fresh) shown.set(instance.name, instance);
    parts.routes.show(projectId, routesOf(fresh));
    for (const instance of earlier)
      leave(instance, ended.includes(instance) ? 0 : drainMsOf(instance.record));
    parts.changed();
  }

  async function discard(instance: Instance): Promise<void> {
    try {
      await instance.remove();
    } catch (error) {
      log.error({ folder: instance.folder, error: messageOf(error) }, "a service could not be removed");
    }
    forget(instance);
    parts.changed();
  }

  async function act(
    action: "start" | "stop" | "restart",
    names: string[],
    progress: StartProgress,
    stop: AbortSignal,
  ): Promise<StageEnd> {
    const chosen = names.map((name) => ({ name, instance: shown.get(name) }));
    const strange = chosen.find(({ instance }) => instance === undefined);
    const now = wanted.now();
    if (strange !== undefined || now === null)
      return failed(newReason("service_unknown", { name: strange?.name ?? names.join(", ") }));
    const list = chosen.flatMap(({ instance }) => instance ?? []);
    const isStopped = action === "stop";
    wanted.write({
      ...now,
      services: now.services.map((each) => (names.includes(each.name) ? { ...each, isStopped } : each)),
    });
    for (const instance of list) {
      retries.delete(instance);
      changing.add(instance);
    }
    if (action !== "start") await Promise.all(list.map((instance) => instance.hold().then(instance.stop)));
    if (action !== "stop")
      return startInstances(
        list.filter((instance) => action === "restart" || !instance.isAlive()),
        progress,
        { clock, stop },
      );
    for (const instance of list) instance.setStopped();
    return succeeded;
  }

  return {
    id: projectId,
    look,
    output,
    shown: (): readonly Instance[] => [...shown.values()],
    all: (): readonly Instance[] => [...instances.values()],
    wanted: wanted.now,
    resume: () => exclusive(resume),
    deploy: (release: ServiceRelease, progress: DeployProgress, stop: AbortSignal) =>
      exclusive(() =>
        replaceServices(
          release,
          progress,
          {
            ...{ clock, shown, changing, create, admit, switchTo, discard },
            setSwitching: wanted.setSwitching,
          },
          stop,
        ),
      ),
    act: (...given: Parameters<typeof act>) => exclusive(() => act(...given)),
    whileIdle: <T>(work: (writer: Reason | null) => Promise<T>) => exclusive(() => whileIdle(work)),
    command,
    close(): void {
      for (const { timer } of draining.values()) clearTimeout(timer);
    },
  };
}
export type ProjectServices = ReturnType<typeof openProject>;
