import { isObject, type JsonObject, parseJson } from "../../json.ts";
import { ownCodePrefix, type VerifyResult } from "./verification-order.ts";
import {
  type ForeignCodeRules,
  readVerifiedCode,
  refusesTemporary,
  type VerifyRequest,
  withoutConsole,
} from "./verified-code.ts";

export interface VerifyUriOptions extends ForeignCodeRules {
  uri: string;
  method: "GET" | "POST";
  timeoutMs: number;
  fetch: (url: string, init: BunFetchRequestInit) => Promise<Response>;
  /** Called with why a response was not usable; the text never contains the address, the code or the response. */
  onUnusable: (reason: string) => void;
}

const maxAnswerBytes = 64 * 1024;
/** The path at which a deploy service verifies its codes. */
const ownVerifyPath = "/api/push/verify";
const refusingStatuses = new Set([400, 401, 403, 404, 410, 422]);

/** Calls verify-uri once. Codes may be single-use, so a request that may have arrived is never repeated. */
export function verifyByUri(options: VerifyUriOptions): (request: VerifyRequest) => Promise<VerifyResult> {
  return async (request) => {
    const unusable = (reason: string): VerifyResult => {
      options.onUnusable(reason);
      return "verify_unavailable";
    };
    if (isDotSegment(request.code)) return "rejected";
    const answer = await callVerifyUri(options, request);
    if ("unusable" in answer) return unusable(answer.unusable);
    if (refusingStatuses.has(answer.status)) return "rejected";
    if (answer.status < 200 || answer.status > 299) return unusable(`it answered ${answer.status}`);
    const given = readAnswer(answer.text);
    if (given === "rejected") return given;
    const verified = given && readVerifiedCode(given, request.asksTemporary);
    if (!verified) return unusable("the response has an unknown format");
    if (refusesTemporary(given, request.asksTemporary, options)) return "rejected";
    return withoutConsole(verified, isDeployService(options.uri, request.code), options);
  };
}

/** Inserted for `{code}` in a path these would change the address, and URL encoding does not prevent it. */
function isDotSegment(code: string): boolean {
  return code === "." || code === "..";
}

/** Its own path, and a code with its prefix. */
function isDeployService(uri: string, code: string): boolean {
  return code.startsWith(ownCodePrefix) && new URL(uri).pathname.endsWith(ownVerifyPath);
}

async function callVerifyUri(
  options: VerifyUriOptions,
  request: VerifyRequest,
): Promise<{ status: number; text: string } | { unusable: string }> {
  const controller = new AbortController();
  const { signal } = controller;
  // AbortSignal.timeout keeps its timer for the full time: a burst of attempts would leave thousands of them.
  const timer = setTimeout(() => controller.abort(), options.timeoutMs);
  try {
    const response = await options.fetch(urlOf(options, request), {
      ...requestInit(options.method, request),
      redirect: "manual",
      // On a stale keep-alive connection the runtime would repeat a GET.
      keepalive: false,
      signal,
    });
    const text = await readLimited(response);
    return text === null
      ? { unusable: `the answer is longer than ${maxAnswerBytes} bytes` }
      : { status: response.status, text };
  } catch {
    return { unusable: signal.aborted ? `no answer within ${options.timeoutMs} ms` : "it cannot be reached" };
  } finally {
    clearTimeout(timer);
  }
}

function urlOf({ uri, method }: VerifyUriOptions, { code, asksTemporary }: VerifyRequest): string {
  if (method === "POST") return uri.replaceAll("{code}", encodeURIComponent(code));
  const temp = asksTemporary ? "temp=1" : "";
  const isInPath = uri.includes("{code}");
  const address = uri.replaceAll("{code}", encodeURIComponent(code));
  const query = [isInPath ? "" : `code=${encodeURIComponent(code)}`, temp].filter((part) => part !== "");
  if (query.length === 0) return address;
  return `${address}${address.includes("?") ? "&" : "?"}${query.join("&")}`;
}

function requestInit(method: "GET" | "POST", request: VerifyRequest): BunFetchRequestInit {
  if (method === "GET") return { method, headers: { accept: "application/json" } };
  const { code, asksTemporary: temp, address: ip, origin } = request;
  return {
    method,
    headers: { accept: "application/json", "content-type": "application/json" },
    body: JSON.stringify({ code, temp, ip, origin }),
  };
}

/** Null: longer than allowed; the rest is not read. */
async function readLimited(response: Response): Promise<string | null> {
  const { headers } = response;
  const length = headers.get("content-length");
  if (Number(length) > maxAnswerBytes) {
    await response.body?.cancel();
    return null;
  }
  // The runtime reads no more than the declared length, so counting is needed only for compressed text.
  if (length !== null && !headers.has("content-encoding")) return response.text();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the stream.
    if (bytes > maxAnswerBytes) return null;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The object with `userId` in an envelope or bare, or a user id alone. Null: unknown format. */
function readAnswer(text: string): JsonObject | "rejected" | null {
  const answer = parseJson(text);
  if (!isObject(answer)) return userAlone(answer);
  if (!("successful" in answer || "code" in answer)) return answer;
  if (answer.successful === false) return "rejected";
  if (answer.code !== undefined && typeof answer.code !== "number") return null;
  if (answer.code !== undefined && answer.code !== 0) return "rejected";
  if (answer.data === undefined) return answer;
  return isObject(answer.data) ? answer.data : userAlone(answer.data);
}

function userAlone(userId: unknown): JsonObject | null {
  return typeof userId === "string" || typeof userId === "number" ? { userId } : null;
}
