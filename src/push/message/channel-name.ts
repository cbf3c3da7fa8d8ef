const maxChannelBytes = 255;

/** At most 255 bytes, not empty, no control characters. */
export function isChannelName(name: string): boolean {
  if (name === "" || name.length > maxChannelBytes || Buffer.byteLength(name) > maxChannelBytes) return false;
  for (let at = 0; at < name.length; at++) {
    const unit = name.charCodeAt(at);
    if (unit < 0x20 || (unit >= 0x7f && unit < 0xa0)) return false;
  }
  return true;
}
