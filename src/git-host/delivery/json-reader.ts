import { isObject } from "../../json.ts";

/** Reads untrusted JSON: a missing value, or a value of another type, reads as absent. */

/** The value at a path of own keys; undefined when any step is missing. */
export function at(value: unknown, ...path: string[]): unknown {
  let current = value;
  for (const key of path) {
    if (!isObject(current) || !Object.hasOwn(current, key)) return undefined;
    current = current[key];
  }
  return current;
}

/** Text at a path, "" if there is none. Numbers read as text, because some hosts send ids as numbers. */
export function textAt(value: unknown, ...path: string[]): string {
  const found = at(value, ...path);
  if (typeof found === "string") return found;
  return typeof found === "number" ? String(found) : "";
}

/** The first non-empty candidate. */
export function firstText(...candidates: string[]): string {
  return candidates.find((candidate) => candidate !== "") ?? "";
}

export function listAt(value: unknown, ...path: string[]): unknown[] | null {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : null;
}

export function countAt(value: unknown, ...path: string[]): number | null {
  const found = at(value, ...path);
  return typeof found === "number" && Number.isFinite(found) ? found : null;
}

export function isTrueAt(value: unknown, ...path: string[]): boolean {
  return at(value, ...path) === true;
}
