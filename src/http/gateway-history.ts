import type { Clock } from "../clock.ts";

/** What the gateway counts at one moment. */
export interface GatewayFigures {
  connections: number;
  /** Messages published since the start of the gateway. */
  published: number;
}

/** One step of a series. */
export interface GatewayPoint {
  /** Its first moment. */
  at: Date;
  /** The most connections at once. */
  connections: number;
  messages: number;
}

const minuteMs = 60_000;
const sampleMs = 15_000;
const minutesKept = 24 * 60;
const daySteps = 96;
const hourSteps = 60;

export interface GatewayHistoryOptions {
  figures: () => Promise<GatewayFigures>;
  clock: Clock;
}

/** The figures of the gateway over the last day, one point per minute, in memory. A restart begins anew. */
export class GatewayHistory {
  readonly #options: GatewayHistoryOptions;
  #minutes: { startMs: number; connections: number; messages: number }[] = [];
  #published: number | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(options: GatewayHistoryOptions) {
    this.#options = options;
  }

  start(): void {
    void this.sample();
    this.#timer = setInterval(() => void this.sample(), sampleMs);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** A gateway that does not answer leaves a gap. */
  async sample(): Promise<void> {
    const figures = await this.#options.figures().catch(() => null);
    if (figures === null) return;
    const now = this.#options.clock.now();
    const startMs = now - (now % minuteMs);
    // A counter that went back belongs to a gateway that was restarted.
    const before = this.#published ?? figures.published;
    const messages = figures.published >= before ? figures.published - before : figures.published;
    this.#published = figures.published;
    const last = this.#minutes.at(-1);
    if (last?.startMs === startMs) {
      last.connections = Math.max(last.connections, figures.connections);
      last.messages += messages;
      return;
    }
    this.#minutes.push({ startMs, connections: figures.connections, messages });
    if (this.#minutes.length > minutesKept) this.#minutes = this.#minutes.slice(-minutesKept);
  }

  /** The last hour by minutes and the last day by quarters of an hour, oldest first. Steps without a sample are left out. */
  series(): { hour: GatewayPoint[]; day: GatewayPoint[] } {
    const now = this.#options.clock.now();
    return {
      hour: this.#steps(now - hourSteps * minuteMs, minuteMs),
      day: this.#steps(now - daySteps * 15 * minuteMs, 15 * minuteMs),
    };
  }

  #steps(fromMs: number, stepMs: number): GatewayPoint[] {
    const steps = new Map<number, GatewayPoint>();
    for (const { startMs, connections, messages } of this.#minutes) {
      if (startMs < fromMs) continue;
      const atMs = startMs - (startMs % stepMs);
      const step = steps.get(atMs) ?? { at: new Date(atMs), connections: 0, messages: 0 };
      steps.set(atMs, step);
      step.connections = Math.max(step.connections, connections);
      step.messages += messages;
    }
    return [...steps.values()];
  }
}
