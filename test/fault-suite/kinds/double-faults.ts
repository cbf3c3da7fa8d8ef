import type { Random } from "../random.ts";
import type { LinkState } from "../setups/link.ts";
import type { Part, Role } from "../setups/part.ts";
import { timePasses } from "../setups/part.ts";
import type { World } from "../setups/world.ts";
import { type FaultKind, linkNamed, partNamed } from "./fault-kind.ts";
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

/** One Kafka broker stays. */
function victimsOf(world: World, roles: Role[], random: Random): Part[] {
  const members = random.shuffled(membersOf(world, roles));
  const spared = members.find(({ role }) => role === "kafka");
  return members.filter((part) => part !== spared);
}

const killSeveral: FaultKind = {
  name: "kill-several",
  about: "kill -9 of several components at once, started again in random order",
  endsOthers: true,
  targets: (world) => Object.keys(groups).filter((name) => isPresent(world, groups[name] ?? [])),
  hits: (world, target) => membersOf(world, groups[target] ?? []).map(({ name }) => name),
  async inject(world, target, random) {
    const victims = victimsOf(world, groups[target] ?? [], random);
    world.timeline.add(`kill-several of ${victims.map(({ name }) => name).join(", ")}`);
    await Promise.all(victims.map(killNow));
    for (const part of random.shuffled(victims)) {
      await timePasses(random.between(0, 1_500));
      await part.start();
    }
  },
};

/** Between the two names of a target. */
const and = " + ";
const brokenStates: LinkState[] = ["cut", "slow", "half-open", "black-hole"];

const killWithBrokenLink: FaultKind = {
  name: "kill-with-broken-link",
  about: "a connection breaks, and a component is killed and started before it is repaired",
  endsOthers: true,
  isSilent: true,
  targets: (world) =>
    world.links.flatMap((link) => world.parts.map((part) => `${link.name}${and}${part.name}`)),
  hits: (_world, target) => target.split(and),
  async inject(world, target, random) {
    const [link = "", killed = ""] = target.split(and);
    const part = partNamed(world, killed);
    const state = random.pick(brokenStates);
    world.timeline.add(`${link} is ${state}`);
    linkNamed(world, link).set(state);
    await timePasses(random.between(0, 3_000));
    await killNow(part);
    await timePasses(random.between(0, 1_000));
    await part.start();
    await timePasses(random.between(0, 3_000));
    linkNamed(world, link).set("open");
  },
};

export const doubleFaults = [killSeveral, killWithBrokenLink];
