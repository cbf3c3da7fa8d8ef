const maxUserIdBytes = 255;

/** At most 255 bytes, not empty: no connection has another user. */
export function isUserId(text: string): boolean {
  return text !== "" && Buffer.byteLength(text) <= maxUserIdBytes;
}
