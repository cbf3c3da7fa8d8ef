import { type Violation, violation } from "../reconciler/violation.ts";
import { type Part, signalSafely, timePasses } from "../setups/part.ts";
import type { World } from "../setups/world.ts";
import type { FaultKind } from "./fault-kind.ts";
import { killNow } from "./process-faults.ts";

/** As after the start of a machine: the runner itself needs a part of it. */
const withoutServerLimitMs = 10_000;

const partsOf = ({ parts }: World, role: Part["role"]) => parts.filter((part) => part.role === role);

function killAll({ timeline }: World, pids: number[]): void {
  timeline.add(`kill -9 of ${pids.length} processes`);
  for (const pid of pids) signalSafely(pid, "SIGKILL");
}

/** Ends the processes of all services, as a machine that is switched off does, and starts its units. */
async function killEverything(world: World): Promise<Violation[]> {
  const runners = partsOf(world, "runner");
  const servers = partsOf(world, "server");
  // The server starts its local runner itself.
  const own = runners.filter(({ name }) => name !== "local runner");
  const waiting = world.services.filter(
    (service) => service.hasServed && own.some(({ name }) => name === service.runner()),
  );
  const pids = [...servers, ...runners].flatMap((part) => part.pids());
  killAll(world, [...pids, ...world.services.flatMap((each) => [...each.keepers(), ...each.pids()])]);
  await Promise.all([...servers, ...runners].map((part) => part.ended(10_000)));
  for (const part of own) await part.start();
  world.timeline.add(
    `${waiting.map(({ name }) => name).join(", ") || "no service"} must serve without the server`,
  );
  const found = await Promise.all(
    waiting.map(async (service): Promise<Violation[]> => {
      if (await service.serves(withoutServerLimitMs)) return [];
      return [violation("needs-server", `${service.name} does not serve again without the server`)];
    }),
  );
  for (const part of servers) await part.start();
  return found.flat();
}

async function restartAll(parts: Part[]): Promise<Violation[]> {
  await Promise.all(parts.map(killNow));
  for (const part of parts) await part.start();
  return [];
}

/** What is killed, by the name of the target. */
const victims: Record<string, (world: World) => Promise<Violation[]> | Violation[]> = {
  services(world) {
    killAll(
      world,
      world.services.flatMap((service) => service.pids()),
    );
    return [];
  },
  keepers(world) {
    killAll(
      world,
      world.services.flatMap((service) => service.keepers()),
    );
    return [];
  },
  runners: (world) => restartAll(partsOf(world, "runner")),
  servers: (world) => restartAll(partsOf(world, "server")),
  everything: killEverything,
};

const killInDeploy: FaultKind = {
  name: "kill-in-deploy",
  about: "kill -9 of services, keepers, runners, servers or all of them at a random moment of a deploy",
  endsOthers: true,
  sparesRunners: (target) => target === "services" || target === "keepers",
  targets: ({ services }) => (services.length > 0 ? Object.keys(victims) : []),
  async inject(world, target, random, probe) {
    await probe.beginDeploy(random);
    return victims[target]?.(world);
  },
};

/** Each ends with a service that should run. */
const sequences = [
  ["restart"],
  ["stop", "start"],
  ["stop", "restart"],
  ["restart", "stop", "stop", "start", "start"],
] as const;

const serviceActions: FaultKind = {
  name: "service-actions",
  about: "a person stops, starts and restarts a service at random moments",
  sparesRunners: () => true,
  targets: ({ services }) => services.map(({ name }) => name),
  async inject(world, target, random, probe) {
    const service = world.services.find(({ name }) => name === target);
    if (!service?.hasServed) return undefined;
    const found: Violation[] = [];
    if (random.chance(0.6)) await probe.beginDeploy(random, target);
    for (const action of random.pick(sequences)) {
      found.push(...(await service.act(action)));
      await timePasses(random.between(0, 1_000));
    }
    return found;
  },
};

export const serviceFaults = [killInDeploy, serviceActions];
