import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { buildApp } from "../app.ts";
import { systemClock } from "../clock.ts";
import { messageOf } from "../errors.ts";
import { buildLogger } from "../logger.ts";
import type { WorkerStart } from "../workers/protocol.ts";
import { WorkerLink } from "../workers/worker/worker-link.ts";

/** One process of a gateway with several. It ends with its supervisor. */
export async function runWorker(start: WorkerStart, fault: string | null): Promise<void> {
  const { config, worker } = start;
  const log = buildLogger(config["log.level"], config["log.format"]).child({ worker });
  if (fault !== null) log.warn({ fault }, "scripts can read the memory of this server, including its keys");
  const supervisor = process.ppid;
  const link = await WorkerLink.connect(start.socket, start.secret, () => {
    // A supervisor that was killed could not remove its folder.
    if (process.ppid !== supervisor) rmSync(dirname(start.socket), { recursive: true, force: true });
    process.exit(1);
  });
  const app = await buildApp(config, "push", log, systemClock, { ...start, link });
  link.onDrain(() => {
    app.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`Stopping failed: ${String(error)}\n`);
        process.exit(1);
      },
    );
  });
  link.onKeys((keys) => {
    app.replaceKeys?.(keys).catch((error: unknown) => {
      log.error({ reason: messageOf(error) }, "the keys could not be replaced; the earlier ones stay valid");
    });
  });
  link.serving({ url: app.url, facts: app.facts, warnings: app.warnings });
}
