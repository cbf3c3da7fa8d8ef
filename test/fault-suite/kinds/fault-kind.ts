import type { Random } from "../random.ts";
import type { Violation } from "../reconciler/violation.ts";
import type { Breakable, Part } from "../setups/part.ts";
import type { StepName, World } from "../setups/world.ts";

/** Lets a fault check during the load whether the servers work. */
export interface Probe {
  /** Whether every ready instance accepts deliveries or messages. */
  whileBroken(): Promise<Violation[]>;
  /** Waits until a release is in this step; false: it was not reached. */
  untilStep(step: StepName): Promise<boolean>;
  stepIsOver(): void;
  /** Begins a deploy of a project with a service, of this or of any, and waits for a random moment of it. */
  beginDeploy(random: Random, project?: string): Promise<void>;
}

/** One kind of fault. It returns when the fault is over; the caller then waits for recovery. */
export interface FaultKind {
  name: string;
  about: string;
  /** No connection is closed when the fault begins, so the other side detects it only by using one. */
  isSilent?: boolean;
  /** It ends other parts than its target; otherwise only the target may end. */
  endsOthers?: boolean;
  /** A server without a broker ends while its data folder cannot be written, so that its log begins anew. */
  breaksLogFile?: boolean;
  /** Runners live and reach their server. */
  sparesRunners?(target: string): boolean;
  /** Names of the parts that it can hit in this set-up; empty: it cannot occur there. */
  targets(world: World): string[];
  /** Names of the parts and links that it hits; the target, unless given. */
  hits?(world: World, target: string): string[];
  inject(world: World, target: string, random: Random, probe: Probe): Promise<Violation[] | undefined>;
}

/** Instances that may not read their log during a fault: the broker, or the way to it, is hit. */
export function unreadableDuring(world: World, { hits, isSilent }: FaultKind, target: string): string[] {
  if (!world.broker) return [];
  const hit = hits?.(world, target) ?? [target];
  const hitsBroker = brokerNames(world).some((name) => hit.includes(name));
  return instanceNames(world).filter(
    (name) =>
      hitsBroker ||
      hit.some((each) => each.startsWith(`${name} → `)) ||
      // The broker closes the connections of a suspended process.
      (isSilent && hit.includes(name)),
  );
}

export function brokerNames(world: World): string[] {
  return world.parts.filter(({ role }) => role === "rabbitmq" || role === "kafka").map(({ name }) => name);
}

export function partNamed(world: World, name: string): Part {
  const part = world.parts.find((each) => each.name === name);
  if (!part) throw new Error(`There is no part ${name}.`);
  return part;
}

export function linkNamed(world: World, name: string): Breakable {
  const link = world.links.find((each) => each.name === name);
  if (!link) throw new Error(`There is no link ${name}.`);
  return link;
}

export function instanceNames(world: World): string[] {
  return world.instances.map(({ part }) => part.name);
}
