import { messageOf } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { type RunningService, unknownAfterMs } from "../../model/service/running-service.ts";
import { operation, type Store } from "../../model/store.ts";
import type { TaskEvents } from "../events/task-events.ts";
import type { WatchedTime } from "../notify/watched-time.ts";
import { noteAway } from "./service-live.ts";

export interface ServiceWatchParts {
  store: Store;
  events: Pick<TaskEvents, "services">;
  watched: Pick<WatchedTime, "ms">;
  log: Logger;
}

const lookEveryMs = 5000;
const looksPerCleanUp = 60;
const samplesKeptMs = 24 * 3_600_000;
/** Nobody waits this long for a part of the output. */
const readsKeptMs = 5 * 60_000;

/** Notes that nothing is known any more of the services of a runner that is away, and deletes what is no longer needed. */
export function buildServiceWatch({ store, events, watched, log }: ServiceWatchParts) {
  let looks = 0;
  let timer: ReturnType<typeof setInterval> | undefined;

  async function cleanUp(): Promise<void> {
    const now = store.now().getTime();
    await store.services.deleteSamples(new Date(now - samplesKeptMs));
    await store.outputReads.deleteOlderThan(new Date(now - readsKeptMs));
  }

  async function look(): Promise<void> {
    looks += 1;
    if (looks % looksPerCleanUp === 0) await cleanUp();
    // Runners could not report while the server was down or had no database.
    if (watched.ms() < unknownAfterMs) return;
    for (const { projectId, services } of await store.run(noteAwayServices, null))
      events.services(projectId, services, store.now());
  }

  return {
    look,
    start(): void {
      timer = setInterval(() => {
        look().catch((error: unknown) =>
          log.error({ error: messageOf(error) }, "services could not be looked at"),
        );
      }, lookEveryMs);
    },
    stop: () => clearInterval(timer),
  };
}

interface AwayProject {
  projectId: number;
  services: RunningService[];
}

/** Of several instances, one marks the services of a runner that is away, and notes it on their projects. */
export const noteAwayServices = operation(
  "noteAwayServices",
  async (keepers, _input: null): Promise<AwayProject[]> => {
    const before = new Date(keepers.now().getTime() - unknownAfterMs);
    const away: AwayProject[] = [];
    for (const projectId of await keepers.services.markAway(before)) {
      const project = await keepers.projects.hold(projectId);
      const release = project && (await keepers.releases.servedLast(projectId));
      const services = await keepers.services.ofProject(projectId);
      const isOfRelease = services.some(({ taskId, isAway }) => isAway && taskId === release?.taskId);
      if (project && release && isOfRelease) await noteAway(keepers, project, release);
      away.push({ projectId, services });
    }
    return away;
  },
);
