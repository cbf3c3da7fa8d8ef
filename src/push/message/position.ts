/** Where a client is in the log of messages. */
export interface Position {
  offset: number;
  tag: string;
}

/**
 * The position after a record, as clients get it and resume with it: the offset, and a tag of the record's id, because a log
 * that was created again has other records at the same offsets.
 */
export function positionOf(offset: number, id: string): string {
  return `${offset.toString(36)}.${tagOf(id)}`;
}

/** Null: the text is not a position; earlier clients resume with the id of a message. */
export function readPosition(text: string): Position | null {
  const [, offset = "", tag = ""] = /^([0-9a-z]{1,11})\.([0-9a-z]{1,7})$/.exec(text) ?? [];
  return tag === "" ? null : { offset: Number.parseInt(offset, 36), tag };
}

export function tagOf(id: string): string {
  return Bun.hash.crc32(id).toString(36);
}
