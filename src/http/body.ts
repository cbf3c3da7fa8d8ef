import { Fault } from "../errors.ts";
import { isNestedTooDeep, maxNesting } from "../json.ts";
import { newReason } from "../reason/reason.ts";

/**
 * Reads a body of at most `maxBytes`; "too_large" if it is longer. The rest is read and dropped, because a sender that is
 * interrupted while writing reports a broken connection instead of our response. The caller needs a deadline.
 */
export function readBody(request: Request, maxBytes: number): Promise<Uint8Array | "too_large"> {
  // The header bounds the body, and Bun reads it in one piece.
  const length = Number(request.headers.get("content-length") ?? Number.NaN);
  if (length <= maxBytes && !request.headers.has("transfer-encoding")) return request.bytes();
  return readChunks(request, maxBytes);
}

async function readChunks(request: Request, maxBytes: number): Promise<Uint8Array | "too_large"> {
  if (!request.body) return new Uint8Array(0);
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    total += chunk.byteLength;
    if (total <= maxBytes) chunks.push(chunk);
  }
  if (total > maxBytes) return "too_large";
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
}

/** As `readBody`, with a deadline for the whole body. */
export async function readBodyInTime(
  request: Request,
  maxBytes: number,
  timeoutMs: number,
): Promise<Uint8Array | "too_large" | "too_late"> {
  const reading = readBody(request, maxBytes);
  // Most bodies arrive together with the headers.
  if (Bun.peek.status(reading) === "fulfilled") return reading;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLate = new Promise<"too_late">((resolve) => {
    timer = setTimeout(() => resolve("too_late"), timeoutMs);
  });
  return Promise.race([reading, tooLate]).finally(() => clearTimeout(timer));
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

export interface BodyLimits {
  maxBytes: number;
  timeoutMs: number;
}

/** The text of a body; throws a Fault if it is too large, too late or not UTF-8. */
export async function readText(request: Request, { maxBytes, timeoutMs }: BodyLimits): Promise<string> {
  const body = await readBodyInTime(request, maxBytes, timeoutMs).catch((cause: unknown) => {
    throw new Fault("malformed", newReason("body_cut"), { cause });
  });
  if (body === "too_late") throw new Fault("too_late", newReason("body_late", { seconds: timeoutMs / 1000 }));
  if (body === "too_large") throw new Fault("too_large", newReason("body_over", { bytes: maxBytes }));
  try {
    return utf8.decode(body);
  } catch (cause) {
    throw new Fault("malformed", newReason("body_not_utf8"), { cause });
  }
}

/** Refuses JSON that is nested deeper than any valid request. */
export function refuseDeepJson(text: string): void {
  if (isNestedTooDeep(text)) throw new Fault("malformed", newReason("body_deep", { levels: maxNesting }));
}
