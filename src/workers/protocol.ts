import type { LogName } from "../bus/log.ts";
import type { Config } from "../config/config.ts";
import type { GatewayKeys } from "../config/gateway-keys.ts";
import type { ConnectionSelector } from "../push/control.ts";

/** What the supervisor writes to the standard input of a worker: nothing of it is in its arguments or environment. */
export interface WorkerStart {
  /** Admits one connection to the socket. */
  secret: string;
  socket: string;
  /** From 1. */
  worker: number;
  workers: number;
  /** The settings of the supervisor, also for a worker that starts after the settings file was changed. */
  config: Config;
  /** Name of the instance. */
  node: string;
  /** Identifies this start of the instance. */
  bootTag: string;
}

/** Counts and refusals that all workers share. */
export interface Calls {
  /** Counts a connection attempt and takes a place under push.max-connections. */
  enter: { args: { rateKey: string; takesPlace: boolean }; result: "connect_rate" | "full" | null };
  /** Counts a connection of the user; false: the user has too many. */
  confirm: { args: { userId: string }; result: boolean };
  /** Asks every worker the same question. */
  askAll: { args: { question: Question }; result: WorkerAnswers };
  metrics: { args: null; result: { text: string; contentType: string } };
  /** What is missing until all workers are ready; null: nothing. */
  missing: { args: null; result: string | null };
}
export type CallName = keyof Calls;

export type Question =
  | { about: "online" }
  | { about: "connections"; userId: string | null }
  | { about: "count"; selector: ConnectionSelector }
  | { about: "metrics" }
  | { about: "missing" };

export interface WorkerAnswers {
  answers: unknown[];
  names: InstanceNames;
  /** Messages in the log of the supervisor; 0 with a broker. */
  published: number;
}

/** Distinct names of all workers. */
export interface InstanceNames {
  users: number;
  online: number;
  channels: number;
}

/** Changes that need no answer. */
export interface WorkerNote {
  /** Names that got their first connection on this worker, or lost the last one, in order. */
  users?: NameChange[];
  /** Users with a normal connection. */
  online?: NameChange[];
  channels?: NameChange[];
  /** Places that became free, each with the user that it was confirmed for, or null. */
  left?: (string | null)[];
  /** Open streams of client messages on this worker. */
  listeners?: number;
}

export type NameChange = [name: string, isPresent: boolean];

/** Facts of a worker that serves, for the text after a start. */
export interface WorkerServing {
  url: string;
  facts: string[];
  warnings: string[];
}

export type FromWorker =
  | { type: "hello"; secret: string }
  /** Asks for the kept records and for all records from now on. */
  | { type: "read" }
  /** The body is the record. */
  | { type: "append"; call: number; topic: LogName }
  /** All records up to `offset` were handled; `counts` has pairs of an offset and its affected connections. */
  | { type: "handled"; offset: number; counts: number[] }
  | { type: "call"; call: number; name: CallName; args: unknown }
  | { type: "answer"; query: number; answer: unknown }
  | { type: "note"; note: WorkerNote }
  /** The body is a message of a client, for listeners on other workers. */
  | { type: "client" }
  | { type: "serving"; serving: WorkerServing }
  | { type: "drained" }
  | { type: "pong" };

export type ToWorker =
  /** The body is the record. */
  | { type: "record"; topic: LogName; offset: number; ageMs: number }
  /** The starting read is over. */
  | { type: "caughtUp" }
  | { type: "result"; call: number; result: unknown }
  /** The call or the append failed. */
  | { type: "failed"; call: number; reason: string }
  | { type: "query"; query: number; question: Question }
  | { type: "client" }
  /** Streams of client messages on other workers. */
  | { type: "listeners"; count: number }
  /** Replaces the keys of callers and of JWTs. */
  | { type: "keys"; keys: GatewayKeys }
  | { type: "drain" }
  /** All workers have drained. */
  | { type: "stop" }
  | { type: "ping" };

/** A hello is short; nothing longer is read from a connection that has not shown the secret. */
export const maxHelloBytes = 4_096;
/** Above the largest message, whose JSON may have six bytes per byte. */
export const maxFrameBytes = 1024 * 1024 * 1024;
