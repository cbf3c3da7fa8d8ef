import { alreadyPublished, type Bus, type BusHandler, type SharedTopic } from "./bus.ts";

/**
 * One instance: what is published comes straight back to the subscriber, in the same turn, so that the runtime gathers
 * messages that arrive together into one write per socket. `client` and `events` have no reader here.
 */
export function localBus(): Bus {
  const handlers = new Map<string, BusHandler>();
  return {
    name: "local",
    publish: (topic, _key, message) => handlers.get(topic)?.([message]) ?? alreadyPublished,
    takes: () => true,
    subscribe(topic: SharedTopic, handle) {
      handlers.set(topic, handle);
    },
    start() {},
    state: () => ({ ready: true, detail: "one instance, no queue" }),
    onStateChange() {},
    async close() {},
  };
}
