import { isObject } from "../../json.ts";
import { storableText } from "../../storable-text.ts";

const maxStoredBytes = 8192;
export const mask = "***";

const secretKey = /^(secret|password|sign|token)$/i;
/**
 * Whether a text may contain values to mask. Escapes may hide a key, so a text with escapes is searched too. Every body
 * is searched, and each quote that might begin a key costs as much as a hundred other characters: therefore the colon
 * is found first, and the key before it.
 */
const suspicious = /(?<="(?:secret|password|sign|token)"\s*):|\\u00/i;
const secretMember = /("(?:secret|password|sign|token)"\s*:\s*)"(?:[^"\\]|\\.)*"?/gi;

/** Characters that JSON escapes, or that many write as an escape. */
const alwaysEscaped = /["\\]|[^ -~]/;

/** Shorter secrets occur in ordinary text; then only whole values are masked. */
const minSecretInside = 6;

/**
 * How far a body is searched. A value that begins before the cut ends before this: a secret has at most 1024
 * characters, and an escape six.
 */
const maxSearched = 2 * maxStoredBytes;

/**
 * The stored form of a body: values of secret keys and every occurrence of the secrets are masked, characters that no
 * database accepts are replaced, then the text is cut at 8192 bytes on a character boundary. `payload` is the parsed
 * body, undefined if there is none.
 */
export function storedBodyOf(text: string, payload: unknown, secrets: readonly string[]): string {
  return cutAtBytes(storableText(masked(text, payload, secrets).slice(0, maxStoredBytes)), maxStoredBytes);
}

function masked(text: string, payload: unknown, secrets: readonly string[]): string {
  const known = secrets.filter((secret) => secret !== "");
  const searched = text.slice(0, maxSearched);
  if (!suspicious.test(searched) && !known.some((secret) => mayHold(searched, secret))) return text;
  if (payload !== undefined) return JSON.stringify(maskedValue(payload, known, { left: maxWalked }));
  return withoutSecrets(searched.replaceAll(secretMember, `$1"${mask}"`), known);
}

/**
 * The secret itself, or another JSON spelling of it: `\/`, `\"`, `\u4e2d`. Escapes of ASCII are suspicious in any case.
 */
function mayHold(text: string, secret: string): boolean {
  if (text.includes(secret)) return true;
  if (secret.includes("/") && text.includes("\\/")) return true;
  return alwaysEscaped.test(secret) && text.includes("\\");
}

/** In characters. Masks are shorter than the values they hide, so this exceeds the stored length. */
const maxWalked = 4 * maxStoredBytes;

/** How much further values are masked. The stored body is cut, so text far behind the cut is dropped without masking. */
interface Room {
  left: number;
}

/** The nesting of a payload is limited where its body is decoded, so that the recursion is too. */
function maskedValue(value: unknown, secrets: readonly string[], room: Room): unknown {
  room.left -= typeof value === "string" ? value.length : 1;
  if (typeof value === "string") return secrets.includes(value) ? mask : withoutSecrets(value, secrets);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const entries: unknown[] = [];
    for (const entry of value) {
      if (room.left <= 0) break;
      entries.push(maskedValue(entry, secrets, room));
    }
    return entries;
  }
  const members: [string, unknown][] = [];
  for (const [key, entry] of Object.entries(value)) {
    if (room.left <= 0) break;
    room.left -= key.length;
    const isSecret = secretKey.test(key) && isSecretValue(entry);
    members.push([withoutSecrets(key, secrets), isSecret ? mask : maskedValue(entry, secrets, room)]);
  }
  return Object.fromEntries(members);
}

/** An empty password is kept, because it shows that none was sent. */
function isSecretValue(value: unknown): boolean {
  return value !== "" && value !== null && typeof value !== "boolean" && !isObject(value);
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce(
    (left, secret) => (secret.length >= minSecretInside ? left.replaceAll(secret, mask) : left),
    text,
  );
}

/** Longest kept message of a commit; nobody writes longer ones by hand. */
export const maxMessageBytes = 64 * 1024;

/** Cuts UTF-8 at a byte count without splitting a character. */
export function cutAtBytes(text: string, maxBytes: number): string {
  // A UTF-16 unit takes at least one byte, and at most three.
  if (text.length * 3 <= maxBytes) return text;
  if (text.length <= maxBytes && Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text.slice(0, maxBytes));
  let end = Math.min(maxBytes, bytes.length);
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString("utf8");
}

/** One line without control characters: safe in a terminal and in a log. */
export function visible(text: string): string {
  return text.toWellFormed().replaceAll(/\p{Cc}/gu, (character) => escapeOf(character));
}

function escapeOf(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
}
