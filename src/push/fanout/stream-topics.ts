import { eventOf } from "../message/server-sent-event.ts";
import type { Fanout } from "./hub.ts";

/** A stream that is subscribed to topics. */
export interface StreamSubscriber {
  /** Holds a small event until `flush`. True: no other event is held. */
  hold(event: Uint8Array): boolean;
  flush(): void;
}

/**
 * Topics of event streams. Those of the runtime have WebSockets only. As there, the messages of one turn of the event loop are
 * written to a stream together, because each write to the system costs more than all else.
 */
export class StreamTopics {
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

  /** The topics of the runtime and these as one. */
  with(runtime: Fanout): Fanout {
    return {
      subscriberCount: (topic) => runtime.subscriberCount(topic) + this.#count(topic),
      publish: (topic, frame) => {
        const bytes = this.#publish(topic, frame);
        // The runtime returns 0 for a topic without WebSockets, as for a dropped frame.
        return bytes > 0 && runtime.subscriberCount(topic) === 0 ? bytes : runtime.publish(topic, frame);
      },
    };
  }

  #count(topic: string): number {
    return this.#subscribers.get(topic)?.size ?? 0;
  }

  /** Encodes the frame once for all subscribers. Returns 0 if there is none. */
  #publish(topic: string, frame: string): number {
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
