import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../support/free-port.ts";
import type { Surroundings } from "../surroundings.ts";
import { Link } from "./link.ts";
import type { Breakable, Instance } from "./part.ts";
import { gatewayFlags, startAll } from "./server.ts";
import { answersReady, slipwayPart } from "./slipway-process.ts";

export const queuePrefix = "faults";

export interface Gateways {
  instances: Instance[];
  links: Breakable[];
  stop(): Promise<void>;
}

/** How one gateway reaches the broker. */
export interface BrokerWay {
  url: string;
  link: Breakable;
}

/** One `slipway push` for each way to the broker. */
export async function startGateways(around: Surroundings, ways: BrokerWay[]): Promise<Gateways> {
  const instances: Instance[] = [];
  const fronts: Link[] = [];
  for (const [index, way] of ways.entries()) {
    const name = `gateway ${index + 1}`;
    const port = freePort();
    const dataDir = join(around.folder, `gateway-${index + 1}`);
    mkdirSync(dataDir);
    const url = `http://127.0.0.1:${port}`;
    const front = await Link.open(`clients → ${name}`, port);
    const part = slipwayPart({
      name,
      role: "gateway",
      program: around.program,
      command: "push",
      flags: {
        ...gatewayFlags(around, port, dataDir),
        "push-cluster-enabled": "true",
        "push-queue-url": way.url,
        "push-queue-prefix": queuePrefix,
        "push-queue-instance-id": `gateway-${index + 1}`,
      },
      logFile: join(around.folder, `gateway-${index + 1}.log`),
      isReady: () => answersReady(url),
    });
    fronts.push(front);
    instances.push({ part, url, front: front.url, dataDir, port, upstream: [way.link] });
  }
  await startAll(instances.map(({ part }) => part));
  return {
    instances,
    links: [...fronts, ...ways.map(({ link }) => link), around.verifyLink],
    async stop() {
      for (const { part } of instances) {
        part.signal("SIGCONT");
        part.signal("SIGKILL");
      }
      await Promise.all(instances.map(({ part }) => part.ended(10_000)));
    },
  };
}
