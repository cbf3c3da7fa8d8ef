/* Events for other services: client messages and presence. */

/** `<prefix>.client`: a message from a client. */
export interface ClientMessage {
  v: 1;
  id: string;
  ts: number;
  node: string;
  connectionId: string;
  userId: string;
  kind: "normal" | "temporary";
  data: string;
}

/** A client message as an event for push.events-uri. */
export type ClientMessageEvent = ClientMessage & { type: "message" };

interface EventHead {
  v: 1;
  id: string;
  ts: number;
  /** The instance that sends the event. */
  node: string;
}

/**
 * For other services: a user came online or went offline; came to a presence channel or left it; a channel got its first
 * member or lost its last. `<prefix>.events` carries the first kind alone.
 */
export type PresenceEvent = EventHead &
  (
    | { type: "online" | "offline"; userId: string }
    | { type: "joined" | "left"; channel: string; userId: string }
    | { type: "occupied" | "vacated"; channel: string }
  );

/** Every instance derives the same id from the record that caused the event, so that readers can drop repeats. */
export function presenceEventId(type: PresenceEvent["type"], subject: string, cause: string): string {
  const digest = new Bun.CryptoHasher("sha256").update(`${type}\n${cause}\n${subject}`).digest("hex");
  return `${type}-${digest.slice(0, 32)}`;
}
