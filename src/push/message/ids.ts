/**
 * Ids that are unique over instances and restarts: a random tag of this start and a counter. Cheaper than random bytes
 * for each message, and short on the wire.
 */
export function idMaker(tag: string): () => string {
  let count = 0;
  return () => `${tag}-${(++count).toString(36)}`;
}

/** The tag of the start that made an id. */
export function tagOf(id: string): string {
  return id.slice(0, id.lastIndexOf("-"));
}
