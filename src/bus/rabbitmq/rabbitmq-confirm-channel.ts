import { AMQPError, type Channel, type Connection } from "rabbitmq-client";
import { Fault } from "../../errors.ts";

export type Envelope = Exclude<Parameters<Channel["basicPublish"]>[0], string>;

export interface ConfirmChannelOptions {
  connection: Connection;
  /** Declares the exchange or queue on each new channel. */
  prepare?(channel: Channel): Promise<void>;
  /** The broker refuses to publish. The next message tries again. */
  onRefused(cause: unknown): void;
  onReturned?(messageId: string | undefined): void;
}

interface Opened {
  channel: Channel;
  /** Why the broker closed it. */
  refusal?: unknown;
}

/**
 * A channel in confirm mode: order is kept, confirmations are pipelined. RabbitMQ closes the channel if a message is too
 * large. Then a new channel is opened and the unconfirmed messages are sent again, except those over the size limit.
 * Messages that had arrived are then stored twice; readers know them by their id.
 */
export class ConfirmChannel {
  readonly #options: ConfirmChannelOptions;
  #opened: Opened | undefined;
  #opening: Promise<void> | undefined;
  /** Known once the broker has refused a message. */
  #maxBytes = Number.POSITIVE_INFINITY;

  constructor(options: ConfirmChannelOptions) {
    this.#options = options;
  }

  get channel(): Channel | undefined {
    return this.#opened?.channel;
  }

  open(): Promise<void> {
    if (this.#opening) return this.#opening;
    const opening = this.#openChannel();
    this.#opening = opening;
    // Registered first, so that it runs before the waiting publishes, which then keep their order.
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
    // Only this message was refused, for example because a queue is full.
    if (opened.channel.active) throw cause;
    // Only the first unconfirmed message gets the reason; the others get "channel closed".
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
      // One turn later, when the unconfirmed messages have been rejected with the reason.
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

/** The protocol has no code for this refusal, only a text. */
function maxBytesIn(refusal: unknown): number | undefined {
  if (!(refusal instanceof AMQPError) || refusal.code !== "PRECONDITION_FAILED") return undefined;
  const [, maxBytes] =
    /message size \d+ is larger than (?:configured )?max size (\d+)/.exec(refusal.message) ?? [];
  return maxBytes === undefined ? undefined : Number(maxBytes);
}

function tooLarge(maxBytes: number): Fault {
  return new Fault(
    "too_large",
    `The message is larger than the ${maxBytes} bytes that RabbitMQ accepts: raise its max_message_size.`,
  );
}
