import { request } from "../load/http.ts";
import type { Random } from "../random.ts";
import { type Violation, violation } from "../reconciler/violation.ts";
import { type Part, signalSafely, timePasses, until } from "../setups/part.ts";
import type { World } from "../setups/world.ts";
import { type FaultKind, partNamed } from "./fault-kind.ts";

const endLimitMs = 60_000;
const aloneLimitMs = 30_000;
const readyLimitMs = 90_000;

const ourParts = (world: World) =>
  world.parts.filter(({ role }) => role === "server" || role === "gateway").map(({ name }) => name);

/** A fault of one component. */
function componentFault(
  head: Pick<FaultKind, "name" | "about" | "isSilent">,
  act: (part: Part, random: Random, world: World) => ReturnType<FaultKind["inject"]>,
): FaultKind {
  return {
    ...head,
    targets: (world) => world.parts.map(({ name }) => name),
    inject: (world, target, random) => act(partNamed(world, target), random, world),
  };
}

const kill = componentFault(
  { name: "kill", about: "kill -9, started again after up to 2.5 s" },
  async (part, random) => {
    await killNow(part);
    await timePasses(random.between(0, 2_500));
    await part.start();
  },
);

const terminate = componentFault(
  { name: "terminate", about: "SIGTERM (PostgreSQL: SIGINT), started again at its end" },
  async (part) => {
    const found = await endInOrder(part);
    await part.start();
    return found;
  },
);

const killStarting = componentFault(
  { name: "kill-starting", about: "kill -9 once more while it starts" },
  async (part, random) => {
    await killNow(part);
    // The second kill comes while the service starts.
    void part.start().catch(() => {});
    await timePasses(random.between(30, 1_500));
    await killNow(part);
    await part.start();
  },
);

const stop = componentFault({ name: "stop", about: "SIGSTOP for 1 to 4 s", isSilent: true }, (part, random) =>
  pause(part, random.between(1_000, 4_000)),
);

const stopBeyondLease = componentFault(
  {
    name: "stop-beyond-lease",
    about: "SIGSTOP longer than a lease or than the eviction of an instance; of a runner only its process",
    isSilent: true,
  },
  (part, random, { leaseMs }) => {
    const isGateway = part.role === "gateway" || part.role === "worker";
    const silenceMs = isGateway ? 16_000 : leaseMs + 1_000;
    return pause(part, silenceMs + random.between(500, 3_000));
  },
);

const rollingRestart: FaultKind = {
  name: "rolling-restart",
  about: "SIGTERM with drain, start, ready; one instance after the other",
  endsOthers: true,
  targets: (world) => (ourParts(world).length > 0 ? ["every instance"] : []),
  async inject(world) {
    const found: Violation[] = [];
    for (const { part } of world.instances) {
      found.push(...(await endInOrder(part)));
      await part.start();
      await until(() => part.isReady(), readyLimitMs);
    }
    return found;
  },
};

const startAlone: FaultKind = {
  name: "start-alone",
  about: "an instance is killed and starts while its database or broker cannot be reached",
  targets: (world) =>
    world.instances.filter(({ upstream }) => upstream.length > 0).map(({ part }) => part.name),
  hits: (world, target) =>
    world.instances
      .filter(({ part }) => part.name === target)
      .flatMap(({ upstream }) => upstream.map(({ name }) => name)),
  async inject(world, target, random) {
    const instance = world.instances.find(({ part }) => part.name === target);
    if (!instance) return undefined;
    await killNow(instance.part);
    for (const link of instance.upstream) link.set("cut");
    await instance.part.start();
    // Clients may connect as soon as it listens.
    await until(() => !instance.part.isRunning() || isAlive(instance.url), aloneLimitMs);
    await timePasses(random.between(3_000, 6_000));
    for (const link of instance.upstream) link.set("open");
    // Without its database a server may refuse to start; its supervisor starts it again.
    await until(async () => {
      if (!instance.part.isRunning()) await instance.part.start();
      return instance.part.isReady();
    }, readyLimitMs);
  },
};

async function isAlive(url: string): Promise<boolean> {
  return (await request("GET", `${url}/livez`, { limitMs: 2_000 })).status === 200;
}

export async function killNow(part: Part): Promise<void> {
  part.signal("SIGKILL");
  await part.ended(endLimitMs);
}

export async function endInOrder(part: Part): Promise<Violation[]> {
  part.signal(part.politeSignal);
  if (await part.ended(endLimitMs)) return [];
  await killNow(part);
  return [
    violation(
      "not-recovered",
      `${part.name} did not end within ${endLimitMs / 1000} s of ${part.politeSignal}`,
    ),
  ];
}

export async function pause(part: Part, ms: number): Promise<undefined> {
  const pids = part.pids();
  for (const pid of pids) signalSafely(pid, "SIGSTOP");
  await timePasses(ms);
  for (const pid of pids) signalSafely(pid, "SIGCONT");
}

export const processFaults = [
  kill,
  terminate,
  killStarting,
  stop,
  stopBeyondLease,
  rollingRestart,
  startAlone,
];
