import { BoundedMap } from "../bounded-map.ts";
import { messageOf } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { GatewayMinute, GatewayPoint } from "../model/console/gateway-minute.ts";
import type { Store } from "../model/store.ts";

/** What a gateway counts at one moment, without what belongs to the console. */
export interface GatewayFigures extends Pick<GatewayMinute, "gateway" | "isCluster"> {
  connections: number;
  /** Messages distributed since the start of the gateway. */
  published: number;
}

/** The figures of all gateways that use one database. */
export interface GatewaySeries {
  /** The moment at which the series end. */
  at: Date;
  /** Open in this minute; null: no gateway has answered since the minute before. */
  connections: number | null;
  /** How many gateways have answered since the minute before. */
  gateways: number;
  /** By minutes. */
  hour: GatewayPoint[];
  /** By quarters of an hour. */
  day: GatewayPoint[];
}

const minuteMs = 60_000;
const sampleMs = 15_000;
const quarterMs = 15 * minuteMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** Minutes that wait for a database that is away. */
const maxUnsaved = 60;
/** Of a cluster behind one address, each call may be answered by another gateway. */
const maxGateways = 100;
const closeWithinMs = 2000;

export interface GatewayHistoryOptions {
  figures: () => Promise<GatewayFigures>;
  store: Pick<Store, "gatewayMinutes" | "now">;
  log: Logger;
}

/**
 * Records the figures of the gateway, a row per minute, and reads those of all gateways with this database. A minute is
 * written when it begins and, at most every 15 seconds, when its figures have changed.
 */
export class GatewayHistory {
  readonly #options: GatewayHistoryOptions;
  readonly #counted = new BoundedMap<string, { published: number; minute: GatewayMinute }>(maxGateways);
  readonly #unsaved = new BoundedMap<string, GatewayMinute>(maxUnsaved);
  #timer: ReturnType<typeof setInterval> | undefined;
  #sampling: Promise<void> | null = null;

  constructor(options: GatewayHistoryOptions) {
    this.#options = options;
  }

  start(): void {
    void this.sample();
    this.#timer = setInterval(() => void this.sample(), sampleMs);
  }

  /** Takes a last sample, so that a restart loses nothing. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const last = async () => {
      await this.#sampling;
      await this.sample();
    };
    await Promise.race([last(), Bun.sleep(closeWithinMs)]);
  }

  /** A gateway that does not answer leaves a gap. */
  sample(): Promise<void> {
    this.#sampling ??= this.#sample()
      .catch((error) => {
        this.#options.log.debug({ error: messageOf(error) }, "the figures of the gateway were not recorded");
      })
      .finally(() => {
        this.#sampling = null;
      });
    return this.#sampling;
  }

  async #sample(): Promise<void> {
    const { gateway, isCluster, connections, published } = await this.#options.figures();
    const at = minuteOf(this.#options.store.now());
    const last = this.#counted.get(gateway);
    const before = last?.published ?? published;
    // A counter that went back belongs to a gateway that was restarted.
    const messages = published >= before ? published - before : published;
    const isNew = last?.minute.at.getTime() !== at.getTime();
    const earlier = !isNew ? last?.minute : last === undefined ? await this.#stored(gateway, at) : undefined;
    const minute: GatewayMinute = {
      at,
      gateway,
      isCluster,
      connections: Math.max(connections, earlier?.connections ?? 0),
      messages: messages + (earlier?.messages ?? 0),
    };
    this.#counted.set(gateway, { published, minute });
    const isChanged = minute.connections !== earlier?.connections || minute.messages !== earlier.messages;
    if (isNew || isChanged) this.#unsaved.set(`${at.getTime()} ${gateway}`, minute);
    await this.#save();
  }

  /** The minute in which this server was restarted continues. */
  async #stored(gateway: string, at: Date): Promise<GatewayMinute | undefined> {
    const minutes = await this.#options.store.gatewayMinutes.between(at, at);
    return minutes.find((minute) => minute.gateway === gateway);
  }

  async #save(): Promise<void> {
    if (this.#unsaved.size === 0) return;
    const { gatewayMinutes, now } = this.#options.store;
    await gatewayMinutes.record([...this.#unsaved.values()], now());
    this.#unsaved.clear();
  }

  async series(): Promise<GatewaySeries> {
    const { gatewayMinutes, now } = this.#options.store;
    const at = now();
    const before = (ms: number) => new Date(at.getTime() - ms);
    const thisMinute = minuteOf(at);
    const [hour, day, minutes] = await Promise.all([
      gatewayMinutes.steps(before(hourMs), at, minuteMs),
      gatewayMinutes.steps(before(dayMs), at, quarterMs),
      gatewayMinutes.between(new Date(thisMinute.getTime() - minuteMs), at),
    ]);
    const newest = [...new Map(minutes.map((minute) => [minute.gateway, minute])).values()];
    const connections = newest.reduce((sum, minute) => sum + minute.connections, 0);
    // Until all gateways have recorded this minute, its sum would look like a loss of connections.
    if (newest.some((minute) => minute.at.getTime() === thisMinute.getTime()))
      for (const series of [hour, day]) raiseLast(series, connections);
    const gateways = newest.length;
    return { at, connections: gateways === 0 ? null : connections, gateways, hour, day };
  }
}

function raiseLast(series: GatewayPoint[], connections: number): void {
  const last = series.at(-1);
  if (last !== undefined) last.connections = Math.max(last.connections, connections);
}

function minuteOf(at: Date): Date {
  return new Date(at.getTime() - (at.getTime() % minuteMs));
}
