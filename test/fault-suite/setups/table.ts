import type { Surroundings } from "../surroundings.ts";
import { kafkaWorld } from "./kafka.ts";
import { postgresWorld } from "./postgres.ts";
import { rabbitmqWorld } from "./rabbitmq.ts";
import { sqliteWorld } from "./sqlite.ts";
import { workersWorld } from "./workers.ts";
import type { SetupName, World } from "./world.ts";

const makers: Record<SetupName, (around: Surroundings) => Promise<World>> = {
  sqlite: sqliteWorld,
  postgres: postgresWorld,
  workers: workersWorld,
  rabbitmq: rabbitmqWorld,
  kafka: kafkaWorld,
};

export function makeWorld(setup: SetupName, around: Surroundings): Promise<World> {
  return makers[setup](around);
}
