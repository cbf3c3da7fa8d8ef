import { alreadyPublished, type Bus, type BusHandler, type SharedTopic } from "./bus.ts";

/**
 * The bus of a single instance. A publish calls the subscriber in the same turn of the event loop, so that the runtime
 * combines messages that arrive together into one write per socket. `client` and `events` are dropped.
 */
export function localBus(): Bus {
  const handlers = new Map<string, BusHandler>();
  return {
    name: "local",
    publish: (topic, _key, message) => handlers.get(topic)?.([message]) ?? alreadyPublished,
    accepts: () => true,
    subscribe(topic: SharedTopic, handle) {
      handlers.set(topic, handle);
    },
    start() {},
    state: () => ({ ready: true, detail: "one instance, no queue" }),
    onStateChange() {},
    async close() {},
  };
}
