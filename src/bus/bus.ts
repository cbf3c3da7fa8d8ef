/**
 * What carries messages between instances. Local mode is simply the local bus, so that both modes share one path.
 * `broadcast` and `control` reach every instance, the sender included; `client` and `events` are for other services.
 */
export type SharedTopic = "broadcast" | "control";
export type OutwardTopic = "client" | "events";
export type Topic = SharedTopic | OutwardTopic;

export interface BusMessage {
  /** Unique; consumers drop duplicates by it. */
  id: string;
  /** The broker keeps messages with a key for instances that start later. */
  idempotencyKey?: string;
}

/** A consumer's request for messages from before its start. */
export interface Recall {
  windowMs: number;
  /** Gets the messages published within the window before consuming began, to be remembered and not delivered. */
  handle(messages: unknown[]): void;
}

export interface BusState {
  /** True only while consuming and able to publish. */
  ready: boolean;
  /** For people: "consuming from push.broadcast", "connection refused, next try in 2 s". */
  detail: string;
}

/**
 * What a publish answers that is done before it returns. Callers may compare, and go on without waiting a turn: on one
 * instance most publishes are.
 */
export const alreadyPublished: Promise<void> = Promise.resolve();

export type BusHandler = (messages: unknown[]) => void | Promise<void>;

export interface Bus {
  /**
   * Resolves once the broker has confirmed; rejects with Fault "unavailable" within 5 s otherwise, or with "too_large" for
   * what the broker never takes. Order is kept per key.
   */
  publish(topic: Topic, key: string, message: BusMessage): Promise<void>;
  /** False where a publish would be refused now, in this turn, so that it is certain that nobody will receive it. */
  takes(topic: Topic): boolean;
  /**
   * Handles all that arrives on a topic, in order. Messages that arrived together are handed over together. The value is
   * `unknown`: other services write to the queue too. Acknowledged once the handler has returned, or the promise that it
   * returned is settled: until then nothing more is handed over, which is how slow delivery holds the queue back. Call
   * before `start`.
   *
   * `onLoss` is called, before what follows is handed over, whenever it is not certain that everything that was published
   * came here, so also when consuming begins for the first time. Only what goes on where it ended is certain.
   *
   * `recall` is completed before the first message is handed over, and again after a loss. RabbitMQ recalls only messages
   * with an `idempotencyKey`.
   */
  subscribe(topic: SharedTopic, handle: BusHandler, onLoss?: () => void, recall?: Recall): void;
  /** Connects and keeps connected for ever; returns at once. */
  start(): void;
  state(): BusState;
  onStateChange(listener: (state: BusState) => void): void;
  /** "local", "rabbitmq", "kafka". */
  readonly name: string;
  /** Publishes in flight finish, then the connection is closed. */
  close(): Promise<void>;
}
