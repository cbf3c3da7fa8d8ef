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

/** After white space and a byte order mark, which is decoded away. */
const startsAsJson = /^[\t\n\r ]*[{[]/;

/** The first field of that name. Only its value is decoded: a body of very many fields must not cost more than another. */
const payloadField = /(?:^|&)payload=([^&]*)/;

/**
 * The JSON inside a form body, or null when the body is none. A signature covers the body, not the content type: what
 * begins as JSON is never a form. Otherwise a signed body, sent again as a form, would be read from a `&payload=` that
 * somebody wrote into a commit message.
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
