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

/** The JSON inside a form body, or null when the body is none. */
export function formPayloadOf(body: Uint8Array, contentType: string): string | null {
  if (!isForm(contentType)) return null;
  return new URLSearchParams(utf8.decode(body)).get("payload");
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
