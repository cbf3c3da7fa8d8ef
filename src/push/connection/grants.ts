import { compileGlob, type Glob } from "../../model/glob.ts";

/** The channels that a connection may join. Connections with the same grants share one object. */
export interface ChannelGrants {
  allows(channel: string): boolean;
}

/** Whether a granted entry is a name, without wildcards. */
export function isPlainName(name: string): boolean {
  return !/[*?]/.test(name);
}

/** From `push.public-channels`: every connection may join these. `private-…` is never public. */
export function publicGrants(patterns: readonly string[]): ChannelGrants {
  const globs = patterns.map(compilePublic);
  return { allows: (channel) => !channel.startsWith("private-") && globs.some((glob) => glob(channel)) };
}

/** In the settings `*` alone matches every name, also names with a `/`. */
function compilePublic(pattern: string): Glob {
  return compileGlob(pattern === "*" ? "**" : pattern);
}

/** From the verify service or a `grant` call: exactly these names and globs. */
export function grantsOf(patterns: readonly string[]): ChannelGrants {
  const globs = patterns.map(compileGlob);
  return { allows: (channel) => globs.some((glob) => glob(channel)) };
}
