/** Shorter frames save less than the time is worth. */
const minLength = 1024;

export function isWorthCompressing(frame: string): boolean {
  return frame.length >= minLength;
}

/** The topics of the runtime, which compresses on request. */
export interface CompressingFanout {
  publish(topic: string, text: string, compress?: boolean): number;
  subscriberCount(topic: string): number;
}

/** Publishes compressed to the connections that negotiated it; the runtime compresses for each of them. */
export function compressed(runtime: CompressingFanout) {
  return {
    subscriberCount: (topic: string) => runtime.subscriberCount(topic),
    publish: (topic: string, text: string) => runtime.publish(topic, text, isWorthCompressing(text)),
  };
}
