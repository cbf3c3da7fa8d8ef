import type { LinkState } from "../setups/link.ts";
import { timePasses } from "../setups/part.ts";
import { type FaultKind, linkNamed } from "./fault-kind.ts";

function network(name: LinkState, about: string, longestMs: number): FaultKind {
  return {
    name,
    about,
    isSilent: name !== "cut",
    targets: (world) => world.links.map((link) => link.name),
    async inject(world, target, random) {
      const link = linkNamed(world, target);
      link.set(name);
      await timePasses(random.between(1_000, longestMs));
      link.set("open");
      return undefined;
    },
  };
}

export const networkFaults = [
  network("cut", "every connection is reset, new ones too", 5_000),
  network("slow", "bytes arrive late and in small pieces", 6_000),
  network("half-open", "the far side is gone and the near side does not learn of it", 6_000),
  network("black-hole", "connections stay and nothing passes", 8_000),
];
