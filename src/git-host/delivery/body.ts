import { isNestedTooDeep, isObject, type JsonObject, maxNesting } from "../../json.ts";
import { newReason, type Reason } from "../../reason/reason.ts";

/** A decoded body: its JSON object, or why there is none. */
export interface DecodedBody {
  /** The JSON text; of a form body, its field `payload`. */
  text: string;
  payload: JsonObject | null;
  problem: Reason;
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
 * Decodes a verified body. A byte order mark is removed, and invalid UTF-8 becomes U+FFFD. Bare JSON with the content type
 * of a form (curl's default) is read as JSON.
 */
export function decodeBody(body: Uint8Array, contentType: string, contentEncoding: string): DecodedBody {
  const text = formPayloadOf(body, contentType) ?? utf8.decode(body);
  if (text.trim() === "") return { text, payload: null, problem: newReason("body_empty") };
  if (isNestedTooDeep(text))
    return { text, payload: null, problem: newReason("body_deep", { levels: maxNesting }) };
  try {
    const parsed: unknown = JSON.parse(text);
    if (isObject(parsed)) return { text, payload: parsed, problem: "" };
    return { text, payload: null, problem: newReason("body_no_object") };
  } catch {
    const isCompressed = contentEncoding !== "" && contentEncoding.toLowerCase() !== "identity";
    const problem = isCompressed
      ? newReason("body_compressed", { encoding: contentEncoding.slice(0, 40) })
      : newReason("body_not_json");
    return { text, payload: null, problem };
  }
}
