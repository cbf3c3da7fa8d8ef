import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export interface ReceivedEvent {
  id: string;
  type: string;
  ts: number;
  node: string;
  userId?: string;
  channel?: string;
}

/** A receiver of push.events-uri that a test may kill and start again. What it accepted is in a file. */
export class EventReceiver {
  readonly secret = "the secret of the receiver";
  readonly #port = freePort();
  readonly #file = join(temporaryFolder("events"), "events");
  #process: Bun.Subprocess | undefined;

  get url(): string {
    return `http://127.0.0.1:${this.#port}/push-events`;
  }

  /** The settings of a gateway, as flags. */
  get settings(): Record<string, string> {
    return { "push-events-uri": this.url, "push-events-secret": this.secret };
  }

  async start(...more: "dies"[]): Promise<void> {
    const program = join(import.meta.dir, "event-receiver-process.ts");
    this.#process = Bun.spawn(
      [process.execPath, program, String(this.#port), this.#file, this.secret, ...more],
      {
        stdin: "ignore",
        stdout: "inherit",
        stderr: "inherit",
      },
    );
    if (more.length > 0) return;
    await eventually("the receiver answers", async () => (await fetch(this.url).catch(() => null)) !== null);
  }

  /** Starts it and waits until it has died after it stored events, before it answered. */
  async startAndDie(): Promise<void> {
    await this.start("dies");
    await this.#process?.exited;
  }

  async kill(): Promise<void> {
    this.#process?.kill("SIGKILL");
    await this.#process?.exited;
  }

  /** All events in the order of their arrival, with repeats. */
  all(): ReceivedEvent[] {
    if (!existsSync(this.#file)) return [];
    // A line without its end was cut by the kill, before the answer.
    const lines = readFileSync(this.#file, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as ReceivedEvent);
  }

  /** The first event of each id. */
  distinct(): ReceivedEvent[] {
    const seen = new Set<string>();
    return this.all().filter(({ id }) => !seen.has(id) && seen.add(id));
  }
}
