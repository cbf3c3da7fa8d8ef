import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { signalSafely } from "../setups/part.ts";
import { elapsedMs } from "../timeline.ts";
import { request } from "./http.ts";
import { slugOf } from "./plans.ts";

const sampleEveryMs = 200;
const program = join(import.meta.dir, "../../support/release-service-process.ts");

/** The service of one project: its command, what its port answers, and which of its processes are alive. */
export class ProjectService {
  /** Names the port behind the switch, as the configuration of a proxy does. */
  readonly upstreamFile: string;
  readonly #recordFile: string;
  readonly #token: string;
  readonly #port: number | null;
  readonly #timer: ReturnType<typeof setInterval>;
  #overlaps: string[] = [];

  /** `port` null: the runner chooses it. */
  constructor(folder: string, recordFile: string, name: string, port: number | null) {
    this.upstreamFile = join(folder, `upstream-${slugOf(name)}`);
    this.#recordFile = recordFile;
    this.#token = `${folder}/service-of-${slugOf(name)}`;
    this.#port = port;
    this.#timer = setInterval(() => this.#sample(), sampleEveryMs);
  }

  get command(): string[] {
    return [process.execPath, program, this.#recordFile, this.#token, String(this.#port ?? "-")];
  }

  get overlaps(): string[] {
    return this.#overlaps;
  }

  /** The commit that answers where users ask; null: none. */
  async served(): Promise<string | null> {
    const port = this.#port ?? this.#upstream();
    if (port === null) return null;
    const answer = await request("GET", `http://127.0.0.1:${port}/`, { limitMs: 3_000 });
    return answer.status === 200 ? answer.text : null;
  }

  pids(): number[] {
    return readdirSync("/proc").flatMap((name) => {
      if (!/^\d+$/.test(name)) return [];
      try {
        const words = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
        return words[1] === program && words.includes(this.#token) ? [Number(name)] : [];
      } catch {
        return [];
      }
    });
  }

  beginRound(): void {
    this.#overlaps = [];
  }

  end(): void {
    clearInterval(this.#timer);
    for (const pid of this.pids()) signalSafely(pid, "SIGKILL");
  }

  #upstream(): number | null {
    return existsSync(this.upstreamFile) ? Number(readFileSync(this.upstreamFile, "utf8")) : null;
  }

  #sample(): void {
    const pids = this.pids();
    if (pids.length > 1)
      this.#overlaps.push(`processes ${pids.join(" and ")} at ${Math.round(elapsedMs())} ms`);
  }
}
