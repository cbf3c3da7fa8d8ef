import type { FaultKind } from "./kinds/fault-kind.ts";
import { faultKinds } from "./kinds/table.ts";
import { Random } from "./random.ts";
import type { World } from "./setups/world.ts";

export interface ScheduledFault {
  kind: FaultKind;
  target: string;
}

export const faultsPerRound = 8;

/**
 * The faults of a round. The seed shuffles the kinds of the set-up, and the targets of each kind: each kind occurs once
 * before any occurs again, and so does each target of a kind.
 */
export function faultsOfRound(
  world: World,
  seed: number,
  round: number,
  wanted: readonly string[],
): ScheduledFault[] {
  const kinds = faultKinds
    .filter(({ name }) => wanted.length === 0 || wanted.includes(name))
    .filter((kind) => kind.targets(world).length > 0);
  if (kinds.length === 0) return [];
  const shuffled = <T>(list: readonly T[], ...what: (string | number)[]) =>
    new Random(seed, world.setup, ...what).shuffled(list);
  return Array.from({ length: faultsPerRound }, (_, index) => {
    const place = round * faultsPerRound + index;
    const turn = Math.floor(place / kinds.length);
    const kind = shuffled(kinds, "kinds", turn)[place % kinds.length] as FaultKind;
    const targets = kind.targets(world);
    const cycle = Math.floor(turn / targets.length);
    const target = shuffled(targets, kind.name, cycle)[turn % targets.length] as string;
    return { kind, target };
  });
}
