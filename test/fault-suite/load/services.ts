import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keepersIn } from "../../support/process-watch.ts";
import type { ServiceMoment } from "../reconciler/history.ts";
import { signalSafely, timePasses, until } from "../setups/part.ts";
import { elapsedMs } from "../timeline.ts";
import type { Api } from "./api.ts";
import { request } from "./http.ts";
import { slugOf } from "./plans.ts";
import { serviceCommand } from "./scripts.ts";

const lookEveryMs = 400;
const programName = "service.mjs";
const source = join(import.meta.dir, "../../support/release-service-process.ts");

function parentOf(pid: number): number {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** The service of one project: its command, what its port answers, what its page shows, and its processes. */
export class ProjectService {
  readonly name: string;
  /** Names the port behind the switch, as the configuration of a proxy does. */
  readonly upstreamFile: string;
  readonly command: string;
  readonly #program: string;
  readonly #token: string;
  readonly #port: number | null;
  /** Folders of the runners, by name. */
  readonly #runners: ReadonlyMap<string, string>;
  #projectId = 0;
  #moments: ServiceMoment[] = [];
  #hasServed = false;
  #isWatching = true;

  /** `port` null: the runner chooses it. */
  constructor(
    name: string,
    port: number | null,
    runners: ReadonlyMap<string, string>,
    files: { folder: string; record: string },
  ) {
    const { folder, record } = files;
    this.name = name;
    this.upstreamFile = join(folder, `upstream-${slugOf(name)}`);
    this.#token = `${folder}/service-of-${slugOf(name)}`;
    this.#port = port;
    this.#runners = runners;
    this.#program = join(folder, programName);
    writeFileSync(
      this.#program,
      new Bun.Transpiler({ loader: "ts" }).transformSync(readFileSync(source, "utf8")),
    );
    const lock = join(folder, `lock-${slugOf(name)}`);
    this.command = serviceCommand(record, lock, ["node", this.#program, record, this.#token]);
  }

  /** Looks at it until the end: what users and people who read its page see. */
  watch(projectId: number, api: Api): void {
    this.#projectId = projectId;
    void this.#watch(api);
  }

  get projectId(): number {
    return this.#projectId;
  }

  get moments(): ServiceMoment[] {
    return this.#moments;
  }

  /** From then on something must serve. */
  get hasServed(): boolean {
    return this.#hasServed;
  }

  /** The commit that answers where users ask; null: none. */
  async served(): Promise<string | null> {
    const port = this.#port ?? this.#upstream();
    if (port === null) return null;
    const answer = await request("GET", `http://127.0.0.1:${port}/`, { limitMs: 3_000 });
    return answer.status === 200 ? answer.text : null;
  }

  serves(limitMs: number): Promise<boolean> {
    return until(async () => (await this.served()) !== null, limitMs);
  }

  pids(): number[] {
    return readdirSync("/proc").flatMap((name) => {
      if (!/^\d+$/.test(name)) return [];
      try {
        const words = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
        return words[1] === this.#program && words.includes(this.#token) ? [Number(name)] : [];
      } catch {
        return [];
      }
    });
  }

  /** Without their helpers, which have the same name. */
  keepers(): number[] {
    const all = this.#keepersAndHelpers();
    return all.filter((pid) => !all.includes(parentOf(pid)));
  }

  #keepersAndHelpers(): number[] {
    return [...this.#runners.values()].flatMap((folder) => keepersIn(folder, this.#projectId));
  }

  /** The runner that keeps it; undefined: none does. */
  runner(): string | undefined {
    const entries = [...this.#runners];
    return entries.find(([, folder]) => keepersIn(folder, this.#projectId).length > 0)?.[0];
  }

  beginRound(): void {
    this.#moments = [];
  }

  end(): void {
    this.#isWatching = false;
    for (const pid of [...this.#keepersAndHelpers(), ...this.pids()]) signalSafely(pid, "SIGKILL");
  }

  async #watch(api: Api): Promise<void> {
    const path = `/api/projects/${this.#projectId}`;
    while (this.#isWatching) {
      const [served, page] = await Promise.all([
        this.served(),
        api.look<{ liveTaskId: number | null; services: { state: string } | null }>(path),
      ]);
      // The service of a deploy that was interrupted has answered, too, and ends.
      this.#hasServed ||= served !== null && typeof page?.liveTaskId === "number";
      this.#moments.push({
        at: elapsedMs(),
        isOwed: this.#hasServed,
        isServed: served !== null,
        shown: page?.services?.state ?? null,
      });
      await timePasses(lookEveryMs);
    }
  }

  #upstream(): number | null {
    return existsSync(this.upstreamFile) ? Number(readFileSync(this.upstreamFile, "utf8")) : null;
  }
}
