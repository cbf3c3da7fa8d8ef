/**
 * Generates ids that are unique across instances and restarts: a random prefix of this process and a counter. This is
 * cheaper than random bytes per message, and short on the wire.
 */
export function idGenerator(prefix: string): () => string {
  let count = 0;
  return () => `${prefix}-${(++count).toString(36)}`;
}
