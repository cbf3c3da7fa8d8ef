import type { Runner } from "../../model/runner.ts";
import type { Store } from "../../model/store.ts";
import type { ServicesRequest } from "../../runner/protocol.ts";
import type { TaskEvents } from "../events/task-events.ts";
import { noteSeen } from "../hand-out/runner-seen.ts";
import { recordServices } from "./record-services.ts";

export interface ServiceReportsParts {
  store: Store;
  events: TaskEvents;
}

/** Takes the reports of runners about all services that they run, one project after the other. */
export function buildServiceReports({ store, events }: ServiceReportsParts) {
  return {
    async report(runner: Runner, { services, disk = [] }: ServicesRequest): Promise<void> {
      await noteSeen(store, runner);
      for (const { projectId, ...use } of disk) await store.projects.setDisk(projectId, runner.id, use);
      const byProject = Map.groupBy(services, ({ projectId }) => projectId);
      const known = await store.services.projectsOfRunner(runner.id);
      for (const projectId of new Set([...byProject.keys(), ...known])) {
        const { changed, calls, rollback } = await store.run(recordServices, {
          runnerId: runner.id,
          projectId,
          services: byProject.get(projectId) ?? [],
          consoleUrl: events.consoleUrl(),
        });
        if (changed) events.services(projectId, changed, store.now());
        if (rollback) events.enqueued(rollback);
        events.send([...calls, ...(rollback?.calls ?? [])]);
      }
    },
  };
}
export type ServiceReports = ReturnType<typeof buildServiceReports>;
