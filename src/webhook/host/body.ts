import { isObject, type JsonObject } from "./json-reader.ts";

/** A body, decoded: its JSON object, or why it has none. */
export interface DecodedBody {
  /** The JSON text: for form bodies that inside `payload=`. */
  text: string;
  payload: JsonObject | null;
  problem: string;
}

const utf8 = new TextDecoder("utf-8");

function isForm(contentType: string): boolean {
  return contentType.toLowerCase().startsWith("application/x-www-form-urlencoded");
}

/** Leading white space is skipped; decoding already removed a byte order mark. */
const startsAsJson = /^[\t\n\r ]*[{[]/;

/** The first field of that name. Only its value is decoded, so that a body with very many fields costs no more than others. */
const payloadField = /(?:^|&)payload=([^&]*)/;

/**
 * The JSON inside a form body, or null when the body is not a form. A signature covers the body, not the content type, so a
 * body that starts as JSON is never read as a form. Otherwise an attacker could resend a signed JSON body as a form and
 * have it read from a `&payload=` in a commit message.
 */
export function formPayloadOf(body: Uint8Array, contentType: string): string | null {
  if (!isForm(contentType)) return null;
  const text = utf8.decode(body);
  const field = startsAsJson.test(text) ? undefined : payloadField.exec(text)?.[1];
  return field === undefined ? null : new URLSearchParams(`payload=${field}`).get("payload");
}

/**
 * Decodes a body that is verified already. A byte order mark goes, bytes that are no UTF-8 become U+FFFD. What says it
 * is a form but holds bare JSON (curl's default) is read as JSON.
 */
export function decodeBody(body: Uint8Array, contentType: string, contentEncoding: string): DecodedBody {
  const text = formPayloadOf(body, contentType) ?? utf8.decode(body);
  if (text.trim() === "")
    return { text, payload: null, problem: "The body is empty; a JSON object is expected." };
  try {
    const parsed: unknown = JSON.parse(text);
    if (isObject(parsed)) return { text, payload: parsed, problem: "" };
    return { text, payload: null, problem: "The body is JSON, but no object." };
  } catch {
    const isCompressed = contentEncoding !== "" && contentEncoding.toLowerCase() !== "identity";
    const problem = isCompressed
      ? `The body is compressed (${contentEncoding.slice(0, 40)}); send it plain.`
      : "The body is not JSON.";
    return { text, payload: null, problem };
  }
}
