import { BoundedMap } from "../bounded-map.ts";
import type { Clock } from "../clock.ts";
import type { OverviewKeeper, ProjectRun, RunStatistics } from "../model/console/overview.ts";

const periodMs = 30 * 86_400_000;
/** The periods move with time; within so many minutes they are the same for a person. */
const keptMs = 10 * 60_000;
const maxProjects = 10_000;

interface Known {
  runs: string;
  untilMs: number;
  statistics: RunStatistics[];
}

/**
 * Statistics of the last 30 days and of the 30 days before. They read hundreds of runs of each project, and consoles ask
 * every few seconds; so those of a project are read again when its last runs have changed, or after ten minutes.
 */
export class RunStatisticsCache {
  readonly #overview: Pick<OverviewKeeper, "statistics">;
  readonly #clock: Clock;
  readonly #known = new BoundedMap<number, Known>(maxProjects);

  constructor(overview: Pick<OverviewKeeper, "statistics">, clock: Clock) {
    this.#overview = overview;
    this.#clock = clock;
  }

  /** `lastRuns`: the newest runs of each project. */
  async of(projectIds: number[], lastRuns: Map<number, ProjectRun[]>): Promise<Map<number, RunStatistics[]>> {
    const nowMs = this.#clock.elapsed();
    const runsOf = new Map(projectIds.map((id) => [id, namesOf(lastRuns.get(id) ?? [])]));
    const stale = projectIds.filter((id) => {
      const known = this.#known.get(id);
      return known === undefined || known.runs !== runsOf.get(id) || known.untilMs <= nowMs;
    });
    // A project without runs has no statistics to read.
    const read = await this.#read(stale.filter((id) => runsOf.get(id) !== ""));
    const found = new Map<number, RunStatistics[]>();
    for (const id of stale) {
      const statistics = read.get(id) ?? [];
      this.#known.set(id, { runs: runsOf.get(id) ?? "", untilMs: nowMs + keptMs, statistics });
      found.set(id, statistics);
    }
    for (const id of projectIds) if (!found.has(id)) found.set(id, this.#known.get(id)?.statistics ?? []);
    return found;
  }

  async #read(projectIds: number[]): Promise<Map<number, RunStatistics[]>> {
    if (projectIds.length === 0) return new Map();
    const since = new Date(this.#clock.now() - periodMs);
    const before = new Date(since.getTime() - periodMs);
    const statistics = await this.#overview.statistics(projectIds, since, before);
    return Map.groupBy(statistics, ({ projectId }) => projectId);
  }
}

/** Changes whenever one of the runs is added or ends. */
function namesOf(runs: ProjectRun[]): string {
  return runs.map(({ id, state }) => `${id} ${state}`).join(",");
}
