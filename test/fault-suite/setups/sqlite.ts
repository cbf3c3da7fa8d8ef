import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../support/free-port.ts";
import type { Surroundings } from "../surroundings.ts";
import { mountDisk } from "./disk.ts";
import { Link } from "./link.ts";
import type { Instance } from "./part.ts";
import { addRemoteRunner, serverFlags, startAll } from "./server.ts";
import { answersReady, localRunnerPart, slipwayPart } from "./slipway-process.ts";
import type { World } from "./world.ts";

const leaseMs = 5_000;

/** The default installation: one server with SQLite and its local runner, and a second runner over the network. */
export async function sqliteWorld(around: Surroundings): Promise<World> {
  const { folder, program } = around;
  const dataDir = join(folder, "data");
  const disk = mountDisk(dataDir);
  mkdirSync(dataDir, { recursive: true });
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const front = await Link.open("clients → server", port);
  const server = slipwayPart({
    name: "server",
    role: "server",
    program,
    command: "start",
    flags: {
      ...serverFlags(around, port, dataDir, leaseMs),
      ...around.runnerFlags("local runner"),
      "tasks-concurrency": "3",
    },
    logFile: join(folder, "server.log"),
    isReady: () => answersReady(url),
  });
  const instance: Instance = { part: server, url, front: front.url, dataDir, port, upstream: [] };
  await startAll([server]);
  const remote = await addRemoteRunner(around, [instance], instance, "remote runner");
  const localRunner = localRunnerPart(dataDir);
  const parts = [server, remote.part, localRunner];
  return {
    setup: "sqlite",
    program,
    folder,
    timeline: around.timeline,
    parts,
    instances: [instance],
    links: [front, remote.link, around.receiverLink, around.verifyLink],
    runnerTokens: [remote.token],
    leaseMs,
    knowsReleases: around.knowsReleases,
    steps: [],
    services: [],
    ...(disk ? { disk } : {}),
    async stop() {
      for (const part of parts) {
        part.signal("SIGCONT");
        part.signal("SIGKILL");
      }
      await Promise.all(parts.map((part) => part.ended(10_000)));
      // The server may have started another local runner just before it was killed.
      localRunner.signal("SIGKILL");
      disk?.remove();
    },
  };
}
