import { isObject } from "./json-reader.ts";

const maxStoredBytes = 8192;
export const mask = "***";

const secretKey = /^(secret|password|sign|token)$/i;
/**
 * Whether a text may hold what must be masked. Escapes may hide a key, so a text with them is looked at too. Every body
 * is searched, so the letters stand in both cases: that takes half the time of a search that ignores case.
 */
const suspicious =
  /"(?:[sS][eE][cC][rR][eE][tT]|[sS][iI][gG][nN]|[pP][aA][sS][sS][wW][oO][rR][dD]|[tT][oO][kK][eE][nN])"|\\[uU]00/;
const secretMember = /("(?:secret|password|sign|token)"\s*:\s*)"(?:[^"\\]|\\.)*"?/gi;

/** A secret this short would blacken half of a body; then only whole values are masked. */
const minSecretInside = 6;

/**
 * What a record keeps of a body: values of secret keys and every occurrence of the secrets masked, then cut at 8192
 * bytes on a character boundary. `payload` is the parsed body, undefined when it is none.
 */
export function storedBodyOf(text: string, payload: unknown, secrets: readonly string[]): string {
  return cutAtBytes(masked(text, payload, secrets), maxStoredBytes);
}

function masked(text: string, payload: unknown, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret !== "");
  if (!suspicious.test(text) && !known.some((secret) => text.includes(secret))) return text;
  if (payload !== undefined) return JSON.stringify(maskedValue(payload, known));
  return withoutSecrets(text.replaceAll(secretMember, `$1"${mask}"`), known);
}

function maskedValue(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === "string") return secrets.includes(value) ? mask : withoutSecrets(value, secrets);
  if (Array.isArray(value)) return value.map((entry) => maskedValue(entry, secrets));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [
      key,
      secretKey.test(key) && isSecretValue(entry) ? mask : maskedValue(entry, secrets),
    ]),
  );
}

/** An empty password is worth showing: it says that none was sent. */
function isSecretValue(value: unknown): boolean {
  return value !== "" && value !== null && typeof value !== "boolean" && !isObject(value);
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce(
    (left, secret) => (secret.length >= minSecretInside ? left.replaceAll(secret, mask) : left),
    text,
  );
}

/** Cuts UTF-8 at a byte count without splitting a character. */
export function cutAtBytes(text: string, maxBytes: number): string {
  // No character takes more than three bytes for each of its UTF-16 units.
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text.slice(0, maxBytes));
  let end = Math.min(maxBytes, bytes.length);
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString("utf8");
}

/** PostgreSQL takes no NUL, and no database half a surrogate pair. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

/** One line without control characters: safe in a terminal and in a log. */
export function visible(text: string): string {
  return text.toWellFormed().replaceAll(/\p{Cc}/gu, (character) => escapeOf(character));
}

function escapeOf(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
}
