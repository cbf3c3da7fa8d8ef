import { eventOf } from "../message/server-sent-event.ts";
import type { Fanout } from "./hub.ts";

/** A stream that is subscribed to topics. */
export interface StreamSubscriber {
  write(event: Uint8Array): number;
}

/** Topics of event streams. Those of the runtime have WebSockets only. */
export class StreamTopics {
  readonly #subscribers = new Map<string, Set<StreamSubscriber>>();

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
    for (const stream of subscribers) stream.write(event);
    return event.length;
  }
}
