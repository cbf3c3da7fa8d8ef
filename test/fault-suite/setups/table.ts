import type { Surroundings } from "../surroundings.ts";
import { sqliteWorld } from "./sqlite.ts";
import type { SetupName, World } from "./world.ts";

const makers: Partial<Record<SetupName, (around: Surroundings) => Promise<World>>> = {
  sqlite: sqliteWorld,
};

export function makeWorld(setup: SetupName, around: Surroundings): Promise<World> {
  const make = makers[setup];
  if (!make) throw new Error(`There is no set-up ${setup}.`);
  return make(around);
}
