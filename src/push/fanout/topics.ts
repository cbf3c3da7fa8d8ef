import { eventOf } from "../message/server-sent-event.ts";

/** The runtime's publish/subscribe: one call sends to every subscriber of a topic. */
export interface Fanout {
  publish(topic: string, text: string): number;
  subscriberCount(topic: string): number;
}

/** A stream that is subscribed to topics. */
export interface StreamSubscriber {
  /** Holds a small event until `flush`. True: no other event is held. */
  hold(event: Uint8Array): boolean;
  flush(): void;
}

/**
 * The topics of the runtime, which have WebSockets only, and those of event streams as one. As there, the messages of one turn
 * of the event loop are written to a stream together, because each write to the system costs more than all else.
 */
export class Topics implements Fanout {
  /** Null until the server listens: nobody is connected before. */
  #runtime: Fanout | null = null;
  readonly #subscribers = new Map<string, Set<StreamSubscriber>>();
  /** Streams that hold events of this turn. */
  #holding: StreamSubscriber[] = [];

  add(topic: string, stream: StreamSubscriber): void {
    const subscribers = this.#subscribers.get(topic);
    if (subscribers) subscribers.add(stream);
    else this.#subscribers.set(topic, new Set([stream]));
  }

  remove(topic: string, stream: StreamSubscriber): void {
    const subscribers = this.#subscribers.get(topic);
    if (subscribers?.delete(stream) && subscribers.size === 0) this.#subscribers.delete(topic);
  }

  /** The server of the runtime is created after its routes, and so after the gateway. */
  attach(runtime: Fanout): void {
    this.#runtime = runtime;
  }

  subscriberCount(topic: string): number {
    return this.#ofRuntime(topic) + (this.#subscribers.get(topic)?.size ?? 0);
  }

  /** Returns 0 if there is no subscriber, or the runtime dropped the frame for one. */
  publish(topic: string, frame: string): number {
    const bytes = this.#publishToStreams(topic, frame);
    const isToStreamsOnly = bytes > 0 && this.#ofRuntime(topic) === 0;
    return isToStreamsOnly ? bytes : (this.#runtime?.publish(topic, frame) ?? 0);
  }

  #ofRuntime(topic: string): number {
    return this.#runtime?.subscriberCount(topic) ?? 0;
  }

  /** Encodes the frame once for all subscribers. Returns 0 if there is none. */
  #publishToStreams(topic: string, frame: string): number {
    const subscribers = this.#subscribers.get(topic);
    if (!subscribers) return 0;
    const event = eventOf(frame);
    if (this.#holding.length === 0) setImmediate(() => this.#flush());
    for (const stream of subscribers) if (stream.hold(event)) this.#holding.push(stream);
    return event.length;
  }

  #flush(): void {
    const holding = this.#holding;
    this.#holding = [];
    for (const stream of holding) stream.flush();
  }
}
