import { expect, test } from "bun:test";
import { faultKinds } from "../fault-suite/kinds/table.ts";
import { faultsOfRound, faultsPerRound } from "../fault-suite/schedule.ts";
import type { World } from "../fault-suite/setups/world.ts";

const world = {
  setup: "sqlite",
  parts: ["server", "runner"].map((role) => ({ name: role, role })),
  instances: [{ part: { name: "server", role: "server" }, upstream: [] }],
  links: [{ name: "clients → server" }, { name: "runner → server" }, { name: "server → receiver" }],
  runnerTokens: [{ part: { name: "runner" } }],
  steps: ["switch", "approval"],
  services: [{ name: "stop first" }],
} as unknown as World;
const kinds = faultKinds.filter((kind) => kind.targets(world).length > 0).map(({ name }) => name);

function deal(seed: number, rounds: number, wanted: string[] = []): string[][] {
  const faults = Array.from({ length: rounds }, (_, round) =>
    faultsOfRound(world, seed, round, wanted),
  ).flat();
  return faults.map(({ kind, target }) => [kind.name, target]);
}

test("a few rounds contain every kind of fault, whatever the seed", () => {
  const rounds = Math.ceil(kinds.length / faultsPerRound);
  for (const seed of [1, 2, 3])
    expect(new Set(deal(seed, rounds).map(([kind]) => kind))).toEqual(new Set(kinds));
});

test("each kind occurs once before any occurs again, and so does each target of a kind", () => {
  const dealt = deal(7, kinds.length);
  for (let turn = 0; turn < faultsPerRound; turn++) {
    const ofTurn = dealt.slice(turn * kinds.length, (turn + 1) * kinds.length).map(([kind]) => kind);
    expect(ofTurn.toSorted()).toEqual(kinds.toSorted());
  }
  const cuts = dealt.filter(([kind]) => kind === "cut").map(([, target]) => target);
  expect(new Set(cuts.slice(0, 3)).size).toBe(3);
  expect(new Set(cuts.slice(3, 6)).size).toBe(3);
});

test("the seed determines the faults", () => {
  expect(deal(7, 5)).toEqual(deal(7, 5));
  expect(deal(7, 5)).not.toEqual(deal(8, 5));
  expect(deal(7, 3, ["kill"]).every(([kind]) => kind === "kill")).toBe(true);
});
