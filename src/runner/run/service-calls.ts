import { buildBackoff, pause } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { WantedOutput } from "../protocol.ts";
import type { ServerClient } from "../server/server-client.ts";
import type { Services } from "../service/services.ts";
import { type SendParts, sendTransfer } from "../transfer/send-transfer.ts";
import type { ProjectDisk } from "../workspace/project-disk.ts";

export interface ServiceCallsParts {
  services: Pick<Services, "reports" | "sent" | "onChange" | "read"> & SendParts["services"];
  disk: Pick<ProjectDisk, "unsent" | "sent">;
  workspaces: SendParts["workspaces"];
  client: Pick<ServerClient, "services" | "outputWanted" | "outputText"> & SendParts["client"];
  log: Logger;
  stop: AbortSignal;
}

const reportEveryMs = 10_000;
/** In one report. */
const mostMeasured = 1000;
const waitMs = { first: 500, max: 10_000 };

/** Tells the server what runs here: at each change, and every ten seconds. */
export async function reportServices({
  services,
  disk,
  client,
  log,
  stop,
}: ServiceCallsParts): Promise<void> {
  const backoff = buildBackoff(waitMs.first, waitMs.max);
  let changed = Promise.withResolvers<void>();
  const endListening = services.onChange(() => changed.resolve());
  stop.addEventListener("abort", endListening, { once: true });
  while (!stop.aborted) {
    try {
      // New before the call, so that a change meanwhile is in the next one.
      changed = Promise.withResolvers();
      const measured = disk.unsent(mostMeasured);
      const use = measured.map(({ projectId, use }) => ({ projectId, ...use }));
      const reports = services.reports();
      await client.services({ services: reports, ...(use.length > 0 ? { disk: use } : {}) }, stop);
      services.sent(reports);
      disk.sent(measured);
      backoff.reset();
      await Promise.race([changed.promise, pause(reportEveryMs, stop)]);
    } catch (error) {
      if (!stop.aborted)
        log.debug({ error: messageOf(error) }, "the server did not take a report of services");
      await pause(backoff.nextMs(), stop);
    }
  }
}

/** Sends the parts of outputs that people read, and what tasks of other runners need. */
export async function answerReaders(parts: ServiceCallsParts): Promise<void> {
  const { client, log, stop } = parts;
  const backoff = buildBackoff(waitMs.first, waitMs.max);
  while (!stop.aborted) {
    try {
      const { wanted, transfers } = await client.outputWanted(stop);
      for (const each of wanted) void answer(each, parts);
      for (const each of transfers) void sendTransfer(each, parts);
      backoff.reset();
    } catch (error) {
      if (!stop.aborted)
        log.debug({ error: messageOf(error) }, "the server was not asked for readers of output");
      await pause(backoff.nextMs(), stop);
    }
  }
}

async function answer(
  wanted: WantedOutput,
  { services, client, log, stop }: ServiceCallsParts,
): Promise<void> {
  const { id, position } = wanted;
  const nothing = { id, lines: [], marks: [], next: position ?? 0, from: 0, to: 0 };
  const read = await services
    .read(wanted, stop)
    .catch((error: unknown) => ({ ...nothing, fault: messageOf(error) }));
  await client
    .outputText(read, stop)
    .catch((error: unknown) => log.debug({ error: messageOf(error) }, "output of a service was not sent"));
}
