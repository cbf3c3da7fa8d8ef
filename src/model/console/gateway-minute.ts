import { z } from "zod";

/** What one gateway counted in one minute. */
export interface GatewayMinute {
  /** The first moment of the minute. */
  at: Date;
  /** A name that stays the same when the gateway restarts. */
  gateway: string;
  /** The most connections at once. */
  connections: number;
  messages: number;
  /** Every gateway of a cluster distributes, and so counts, the same messages. */
  isCluster: boolean;
}

/** One step of a series, over all gateways. */
export const gatewayPoint = z.object({
  /** The first moment of the step. */
  at: z.date(),
  /** The most connections of a minute. The minutes of several gateways are added. */
  connections: z.number().int(),
  /** Messages of gateways are added; those of a cluster count once. */
  messages: z.number().int(),
});
export type GatewayPoint = z.infer<typeof gatewayPoint>;

export interface GatewayMinuteKeeper {
  /**
   * Keeps the greater figures where a minute is known, so that a repeated call changes nothing. Deletes minutes that are
   * older than the longest series, or in the future because the system clock was set back.
   */
  record(minutes: GatewayMinute[], now: Date): Promise<void>;
  /** Minutes of each gateway from `from` to `to`, oldest first. */
  between(from: Date, to: Date): Promise<GatewayMinute[]>;
  /** From `from` to `to` in steps, oldest first. Steps in which no minute was recorded are left out. */
  steps(from: Date, to: Date, stepMs: number): Promise<GatewayPoint[]>;
}
