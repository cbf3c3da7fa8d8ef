import type { Kind, Setting } from "./setting-kinds.ts";

export function setting<T, const D>(
  kind: Kind<T>,
  fallback: D,
  meaning: string,
): Setting<T> & { default: D } {
  return { kind, default: fallback, meaning, secret: false };
}

export function secret<T, const D>(kind: Kind<T>, fallback: D, meaning: string): Setting<T> & { default: D } {
  return { kind, default: fallback, meaning, secret: true };
}
