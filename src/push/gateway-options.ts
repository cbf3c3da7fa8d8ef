import type { Bus } from "../bus/bus.ts";
import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { Metrics } from "../metrics.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { AdmissionOptions, InstanceLimits } from "./admission/admission.ts";
import type { ExpiryOptions } from "./admission/expiry.ts";
import type { CodeVerifierParts } from "./admission/verification-order.ts";
import type { ClientMessageOptions, RemoteListeners } from "./client-messages.ts";
import type { NameWatch } from "./connection/connections.ts";
import type { ConnectionSelector } from "./control.ts";
import type { DrainOptions } from "./drain.ts";
import type { EventsByHttp } from "./events/events-by-http.ts";
import type { ResumeRingOptions } from "./fanout/resume-ring.ts";
import type { SendBufferOptions } from "./fanout/send-buffer.ts";

export interface GatewayOptions {
  /** Stable name of this instance. */
  node: string;
  /** Random prefix of ids, new for each process. */
  bootTag: string;
  admission: AdmissionOptions;
  connectRate: number;
  maxMessageBytes: number;
  allowedOrigins: readonly string[];
  publicChannels: readonly string[];
  /** Whether only the console may join its channels. */
  reservesConsoleNames: boolean;
  tempMaxLifetimeMs: number;
  expiry: ExpiryOptions;
  pingIntervalMs: number;
  pongTimeoutMs: number;
  clientMessages: ClientMessageOptions;
  sendBuffer: SendBufferOptions;
  resume: ResumeRingOptions;
  /** Messages whose deliveries are traced; 0: none. */
  traceMessages: number;
  drain: DrainOptions;
}

export interface GatewayParts {
  /** The logs `broadcast` and `control`. */
  bus: Bus;
  /** Carries `client` and `events` to other services; null: they are not written. */
  outbound: Bus | null;
  /** Sends events to push.events-uri; null: it is not set. */
  events: EventsByHttp | null;
  /** Whether client messages are written to `outbound`. */
  queuesClientMessages: boolean;
  /** The other workers of this instance; null: this process is the whole instance. */
  workers: GatewayWorkers | null;
  codes: Pick<CodeVerifierParts, "own" | "jwt" | "remote">;
  /** The time of messages and events. */
  clock: Clock;
  /** For deadlines. */
  steady: Clock;
  random: () => number;
  metrics: Metrics;
  telemetry: Telemetry;
  log: Logger;
}

/** What the workers of one instance have in common. */
export interface GatewayWorkers {
  limits: InstanceLimits;
  names: NameWatch;
  countConnections(selector: ConnectionSelector): Promise<number>;
  clientMessages: RemoteListeners;
  /** Name of the instance. */
  instance: string;
}
