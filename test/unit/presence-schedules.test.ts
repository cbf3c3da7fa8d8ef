import { expect, test } from "bun:test";
import { pick } from "../support/length.ts";
import { PresenceWorld } from "../support/presence-world.ts";

const seeds = pick(100, 10_000);

/** The promises of docs/reliability.md to readers of the events. A seed that fails is replayed alone with its timeline. */
test("whatever happens to three instances, the events of a user alternate, repeats have the same id, and the last one is true", async () => {
  let events = 0;
  for (let seed = 0; seed < seeds; seed++) {
    const world = new PresenceWorld(seed);
    await world.run(180_000);
    const problems = world.problems();
    if (problems.length > 0) console.log(world.timeline.join("\n"));
    expect({ seed, problems }).toEqual({ seed, problems: [] });
    events += world.told.length;
  }
  expect(events).toBeGreaterThan(seeds * 20);
}, 900_000);
