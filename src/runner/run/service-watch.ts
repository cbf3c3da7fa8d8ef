import { pause } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { Masker } from "../log/masker.ts";
import { livingMembers } from "../process/started-service.ts";
import { type Held, runnerPaths } from "../protocol.ts";
import { type ServerClient, ServerRefusal } from "../server/server-client.ts";
import type { RunningService } from "../stage/service-start.ts";

/** How long the output of a started service is shown. */
const watchMs = 60_000;
const lookEveryMs = 1000;
const callTimeoutMs = 10_000;

export interface ServiceWatchParts {
  client: ServerClient;
  masker: Masker;
  log: Logger;
  /** Aborted: sends the output so far and ends. */
  stop: AbortSignal;
  /** The service has ended by itself. */
  exited(): void;
}

export interface ServiceWatch {
  watching: Promise<void>;
  /** Another task of the project may end the service on purpose from now on: a later exit is not reported. */
  replace(): void;
}

/** Sends a service's first minute of output, and whether it has exited in that time. */
export function watchService(held: Held, running: RunningService, parts: ServiceWatchParts): ServiceWatch {
  const replacing = new AbortController();
  return {
    watching: watchUntil(replacing.signal, held, running, parts),
    replace() {
      // One that has exited since the last look did so by itself: the watch goes on until it has reported that.
      if (livingMembers(running.service).length > 0) replacing.abort();
      else parts.exited();
    },
  };
}

async function watchUntil(
  replaced: AbortSignal,
  held: Held,
  { service, capture }: RunningService,
  { client, masker, log, stop, exited }: ServiceWatchParts,
): Promise<void> {
  const endsAt = performance.now() + watchMs;
  const awake = AbortSignal.any([stop, replaced]);
  let sent: string | null = "";
  try {
    while (!replaced.aborted) {
      const isLast = stop.aborted || performance.now() >= endsAt;
      const hasExited = livingMembers(service).length === 0;
      if (hasExited) exited();
      capture.read();
      const text = masker.text(capture.head());
      const { taskId, attempt, lease } = held;
      if (text !== sent || hasExited) {
        await client
          .held(
            runnerPaths.output,
            { taskId, attempt, lease, text, hasExited, serviceTaskId: service.taskId },
            callTimeoutMs,
          )
          .then(() => {
            sent = text;
          })
          .catch((error: unknown) => {
            log.debug({ taskId, error: messageOf(error) }, "the output of a service was not sent");
            // Such as a task that was deleted.
            if (error instanceof ServerRefusal) sent = null;
          });
      }
      if (isLast || sent === null || (hasExited && text === sent)) return;
      await pause(lookEveryMs, awake);
    }
  } finally {
    capture.close();
  }
}
