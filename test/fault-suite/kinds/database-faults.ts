import { timePasses } from "../setups/part.ts";
import type { World } from "../setups/world.ts";
import { type FaultKind, partNamed } from "./fault-kind.ts";

const ifDatabase = ({ database }: World) => (database ? ["postgres"] : []);

const immediateRestart: FaultKind = {
  name: "immediate-restart",
  about: "PostgreSQL ends at once (SIGQUIT) and starts again at once",
  targets: ifDatabase,
  async inject(world) {
    const part = partNamed(world, "postgres");
    part.signal("SIGQUIT");
    await part.ended(10_000);
    await part.start();
  },
};

const terminatedBackends: FaultKind = {
  name: "terminate-backends",
  about: "PostgreSQL ends the connections of the servers, all or those that hold locks",
  targets: ({ database }) => (database ? ["all", "lock holders"] : []),
  async inject({ database }, target, random) {
    for (let times = random.between(1, 4); times > 0; times--) {
      await database?.terminateBackends(target === "all" ? "all" : "lock holders");
      await timePasses(random.between(50, 800));
    }
  },
};

const revokedDatabase: FaultKind = {
  name: "revoke-database",
  about: "the servers may not sign in to PostgreSQL, and their connections end",
  targets: ifDatabase,
  async inject({ database }, _target, random, probe) {
    await database?.revoke();
    try {
      await timePasses(random.between(1_500, 4_000));
      return await probe.whileBroken();
    } finally {
      await database?.grant();
    }
  },
};

export const databaseFaults = [immediateRestart, terminatedBackends, revokedDatabase];
