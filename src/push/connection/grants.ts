import { compileGlob, type Glob } from "../../model/glob.ts";

/** Which channels a connection may join. Connections with the same rights share one object. */
export interface ChannelGrants {
  allows(channel: string): boolean;
}

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

/** A name without wildcards: it is joined, not only granted. */
export function isPlainName(name: string): boolean {
  return !/[*?]/.test(name);
}

/** Of the settings: what anybody admitted may join. `private-…` never is. */
export function publicGrants(patterns: readonly string[]): ChannelGrants {
  const globs = patterns.map(compilePublic);
  return { allows: (channel) => !channel.startsWith("private-") && globs.some((glob) => glob(channel)) };
}

/** In the settings `*` alone means every name, also names with a `/`. */
function compilePublic(pattern: string): Glob {
  return compileGlob(pattern === "*" ? "**" : pattern);
}

/** Of a verify answer: exactly these names and globs. */
export function grantsOf(patterns: readonly string[]): ChannelGrants {
  const globs = patterns.map(compileGlob);
  return { allows: (channel) => globs.some((glob) => glob(channel)) };
}

/** The same rights without what a glob takes away; also for rights that a wider glob had given. */
export function withoutChannels(grants: ChannelGrants, pattern: string): ChannelGrants {
  const taken = compileGlob(pattern);
  return { allows: (channel) => !taken(channel) && grants.allows(channel) };
}
