import { AMQPError, type Channel, type Connection } from "rabbitmq-client";
import { Fault } from "../../errors.ts";

export type Envelope = Exclude<Parameters<Channel["basicPublish"]>[0], string>;

export interface LaneOptions {
  connection: Connection;
  /** Declares on each new channel what is published to. */
  prepare?(channel: Channel): Promise<void>;
  /** The broker does not let us publish here. It is asked again with the next message. */
  onRefused(cause: unknown): void;
  onReturned?(messageId: string | undefined): void;
}

interface Opened {
  channel: Channel;
  /** Why the broker closed it. */
  refusal?: unknown;
}

/**
 * One channel in confirm mode: order is kept, confirmations are pipelined. RabbitMQ answers a message that is too large
 * by closing the channel: then a new one is opened, and all that was on its way is sent again, except what is as large.
 * What had arrived already arrives twice and is dropped by its id.
 */
export class RabbitmqLane {
  readonly #options: LaneOptions;
  #opened: Opened | undefined;
  #opening: Promise<void> | undefined;
  /** Known once the broker has refused something. */
  #maxBytes = Number.POSITIVE_INFINITY;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  get channel(): Channel | undefined {
    return this.#opened?.channel;
  }

  open(): Promise<void> {
    if (this.#opening) return this.#opening;
    const opening = this.#openChannel();
    this.#opening = opening;
    // The first to hear of it: those that wait come next, in their order, and before any new one.
    const end = () => {
      this.#opening = undefined;
    };
    opening.then(end, end);
    return opening;
  }

  publish(envelope: Envelope, body: Buffer): Promise<void> {
    if (body.length > this.#maxBytes) return Promise.reject(tooLarge(this.#maxBytes));
    const opened = this.#opened;
    if (this.#opening || !opened?.channel.active) return this.open().then(() => this.publish(envelope, body));
    return opened.channel
      .basicPublish(envelope, body)
      .catch((cause: unknown) => this.#publishAgain(opened, cause, envelope, body));
  }

  #publishAgain(opened: Opened, cause: unknown, envelope: Envelope, body: Buffer): Promise<void> {
    // Refused by itself, for a queue that is full.
    if (opened.channel.active) throw cause;
    // The first message on its way is told the reason, the others only that the channel is closed.
    opened.refusal ??= cause;
    const maxBytes = maxBytesIn(opened.refusal);
    if (maxBytes === undefined) throw opened.refusal;
    this.#maxBytes = maxBytes;
    return this.publish(envelope, body);
  }

  async #openChannel(): Promise<void> {
    const { connection, prepare, onRefused, onReturned } = this.#options;
    try {
      const channel = await connection.acquire({ emitErrorsFromChannel: true });
      await prepare?.(channel);
      await channel.confirmSelect();
      const opened: Opened = { channel };
      channel.on("basic.return", (message) => onReturned?.(message.messageId));
      channel.on("error", (cause: unknown) => {
        opened.refusal ??= cause;
      });
      // One turn later, when those that were on their way have been told the reason.
      channel.on("close", () =>
        setImmediate(() => {
          if (maxBytesIn(opened.refusal) === undefined)
            onRefused(opened.refusal ?? new Error("a publishing channel was closed"));
        }),
      );
      this.#opened = opened;
    } catch (cause) {
      onRefused(cause);
      throw cause;
    }
  }
}

/** The protocol has no code for it, only a sentence. */
function maxBytesIn(refusal: unknown): number | undefined {
  if (!(refusal instanceof AMQPError) || refusal.code !== "PRECONDITION_FAILED") return undefined;
  const [, maxBytes] =
    /message size \d+ is larger than (?:configured )?max size (\d+)/.exec(refusal.message) ?? [];
  return maxBytes === undefined ? undefined : Number(maxBytes);
}

function tooLarge(maxBytes: number): Fault {
  return new Fault(
    "too_large",
    `The message is larger than the ${maxBytes} bytes that RabbitMQ takes: raise its max_message_size.`,
  );
}
