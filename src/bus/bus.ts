/** `broadcast` and `control` reach every instance, including the sender; `client` and `events` are for other services. */
export type SharedTopic = "broadcast" | "control";
export type ExternalTopic = "client" | "events";
export type Topic = SharedTopic | ExternalTopic;

export interface BusMessage {
  /** Unique, so that consumers drop duplicates. */
  id: string;
  /** The broker keeps messages with a key for instances that start later. */
  idempotencyKey?: string;
}

/** A consumer's request for messages from before its start. */
export interface Recall {
  windowMs: number;
  /** Receives the messages that were published within the window before consuming began; they must not be delivered. */
  handle(messages: unknown[]): void;
  /**
   * Receives the messages that the other workers of this instance keep for clients that resume, then their end. `position`
   * counts all messages of the topic.
   */
  handleKept?(message: unknown, kept: { position: number; ageMs: number }): void;
  endKept?(position: number): void;
}

/** Counts the connections that a message affected, on all workers of this instance. */
export interface Receipts {
  /** Call while a message is handled: how many connections of this process it affected. */
  note(id: string, connections: number): void;
  /** The sum for a message whose publish has resolved. It is forgotten then. */
  take(id: string): number;
}

export interface BusState {
  /** True only while consuming and able to publish. */
  ready: boolean;
  /** True while not ready only because the broker refuses messages of this instance: all messages arrive. */
  isReceiving?: boolean;
  /** For operators: "consuming from push.broadcast", "connection refused, next try in 2 s". */
  detail: string;
}

/**
 * Returned by a publish that is already done. Callers compare with it to continue without waiting a turn of the event
 * loop; in local mode most publishes are done at once.
 */
export const alreadyPublished: Promise<void> = Promise.resolve();

export type BusHandler = (messages: unknown[]) => void | Promise<void>;

/** Carries messages between instances. In local mode it is the local bus, so that both modes share one path. */
export interface Bus {
  /**
   * Resolves once the broker has confirmed; otherwise rejects within 5 s with Fault "unavailable", or with "too_large" if
   * the broker never accepts the message. Order is kept per key.
   */
  publish(topic: Topic, key: string, message: BusMessage): Promise<void>;
  /** False: a publish in this turn of the event loop would be refused, and no instance would receive it. */
  accepts(topic: Topic): boolean;
  /**
   * Passes the messages of a topic to the handler, in order and in batches of those that arrived together. Values are
   * `unknown`, because other services write to the queue too. A batch is acknowledged when the handler has returned or its
   * promise has settled; the next batch waits for that, so slow handling holds the queue back. Call before `start`.
   *
   * `onLoss` is called before the next batch whenever published messages may not have arrived here: always when consuming
   * begins, unless it continues exactly where it stopped. Also if messages arrive in another order than on other instances.
   *
   * `recall` is completed before the first batch, and again after a loss of messages. RabbitMQ recalls only messages with an
   * `idempotencyKey`.
   */
  subscribe(topic: SharedTopic, handle: BusHandler, onLoss?: () => void, recall?: Recall): void;
  /** Connects and stays connected; returns at once. */
  start(): void;
  state(): BusState;
  onStateChange(listener: (state: BusState) => void): void;
  /** "local", "workers", "rabbitmq", "kafka". */
  readonly name: string;
  /** Undefined: this bus does not count. */
  readonly receipts?: Receipts;
  /** Waits for the publishes in flight, then disconnects. */
  close(): Promise<void>;
}
