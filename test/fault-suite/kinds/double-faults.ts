import type { Random } from "../random.ts";
import type { LinkState } from "../setups/link.ts";
import { type Part, type Role, until } from "../setups/part.ts";
import type { World } from "../setups/world.ts";
import { type FaultKind, linkNamed } from "./fault-kind.ts";
import { killNow } from "./process-faults.ts";

/** Roles whose components can fail in the same moment, by the name of the target. */
const groups: Record<string, Role[]> = {
  servers: ["server"],
  "servers and runners": ["server", "runner"],
  "servers and database": ["server", "postgres"],
  gateways: ["gateway"],
  "gateways and broker": ["gateway", "rabbitmq", "kafka"],
  brokers: ["kafka"],
  workers: ["worker"],
};

function isPresent(world: World, roles: Role[]): boolean {
  const present = world.parts.map(({ role }) => role);
  const isBroker = (role: Role) => role === "rabbitmq" || role === "kafka";
  const has = (role: Role) => present.includes(role) || (isBroker(role) && present.some(isBroker));
  return roles.every(has) && membersOf(world, roles).length > 1;
}

function membersOf({ parts }: World, roles: Role[]): Part[] {
  return parts.filter(({ role }) => roles.includes(role));
}

/** Presence events are promised while a gateway remains that has been connected for three seconds. */
const sharedAfterMs = 4_000;
const readyLimitMs = 90_000;

/** One gateway and one Kafka broker stay. */
function victimsOf(world: World, roles: Role[], random: Random): Part[] {
  const spared: Role[] = ["gateway", "kafka"];
  const members = random.shuffled(membersOf(world, roles));
  return members.filter((part) => {
    const alike = members.filter(({ role }) => role === part.role);
    return !(spared.includes(part.role) && alike.length > 1 && alike[0] === part);
  });
}

const killSeveral: FaultKind = {
  name: "kill-several",
  about: "kill -9 of several components at once, started again in random order",
  endsOthers: true,
  targets: (world) => Object.keys(groups).filter((name) => isPresent(world, groups[name] ?? [])),
  async inject(world, target, random) {
    const victims = victimsOf(world, groups[target] ?? [], random);
    world.timeline.add(`kill-several of ${victims.map(({ name }) => name).join(", ")}`);
    await Promise.all(victims.map(killNow));
    for (const part of random.shuffled(victims)) {
      await Bun.sleep(random.between(0, 1_500));
      await part.start();
    }
    const gateways = victims.filter(({ role }) => role === "gateway");
    for (const part of gateways) await until(() => part.isReady(), readyLimitMs);
    if (gateways.length > 0) await Bun.sleep(sharedAfterMs);
  },
};

const brokenStates: LinkState[] = ["cut", "slow", "half-open", "black-hole"];

const killWithBrokenLink: FaultKind = {
  name: "kill-with-broken-link",
  about: "a connection breaks, and a component is killed and started before it is repaired",
  endsOthers: true,
  isSilent: true,
  targets: (world) => world.links.map(({ name }) => name),
  async inject(world, target, random) {
    const part = random.pick(world.parts);
    const state = random.pick(brokenStates);
    world.timeline.add(`${target} is ${state}, kill of ${part.name}`);
    linkNamed(world, target).set(state);
    await Bun.sleep(random.between(0, 3_000));
    await killNow(part);
    await Bun.sleep(random.between(0, 1_000));
    await part.start();
    await Bun.sleep(random.between(0, 3_000));
    linkNamed(world, target).set("open");
  },
};

export const doubleFaults = [killSeveral, killWithBrokenLink];
