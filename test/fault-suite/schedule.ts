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
 * The faults of a round. All faults of the set-up are shuffled by the seed and used in that order, so that each occurs once
 * before any occurs again.
 */
export function faultsOfRound(
  world: World,
  seed: number,
  round: number,
  wanted: readonly string[],
): ScheduledFault[] {
  const cards = faultKinds
    .filter(({ name }) => wanted.length === 0 || wanted.includes(name))
    .flatMap((kind) => kind.targets(world).map((target) => ({ kind, target })));
  if (cards.length === 0) return [];
  const deal = (place: number) => {
    const deck = new Random(seed, world.setup, "deck", Math.floor(place / cards.length)).shuffled(cards);
    return deck[place % cards.length] as ScheduledFault;
  };
  return Array.from({ length: faultsPerRound }, (_, place) => deal(round * faultsPerRound + place));
}
