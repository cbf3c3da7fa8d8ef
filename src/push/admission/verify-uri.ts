import { isObject, type JsonObject, parseJson } from "../../json.ts";
import { isConsoleUser } from "../../model/console-names.ts";
import { isTextList } from "../message/message.ts";
import { ownCodePrefix, type VerifiedCode, type VerifyRequest, type VerifyResult } from "./code-verifier.ts";

export interface VerifyUriOptions {
  uri: string;
  method: "GET" | "POST";
  timeoutMs: number;
  fetch: (url: string, init: BunFetchRequestInit) => Promise<Response>;
  /** Whether user ids of the console are refused unless the deploy service returns them. */
  reservesConsoleNames: boolean;
  /** Called with why a response was not usable; the text never contains the address, the code or the response. */
  onUnusable: (reason: string) => void;
  /** Called when a response was refused because it contained a user id of the console. */
  onReservedUser: () => void;
  /** Whether `temporary: true` for a client that did not send temp=1 is refused; otherwise the connection is normal. */
  refusesUnaskedTemporary: boolean;
  /** Called when a code was refused for that. */
  onUnaskedTemporary: () => void;
}

const maxAnswerBytes = 64 * 1024;
const maxUserIdBytes = 255;
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
    const verified = given && verifiedCodeOf(given, request.asksTemporary);
    if (!verified) return unusable("the response has an unknown format");
    if (given.temporary === true && !request.asksTemporary && options.refusesUnaskedTemporary) {
      options.onUnaskedTemporary();
      return "rejected";
    }
    return checkConsoleUser(options, request, verified);
  };
}

/** Inserted for `{code}` in a path these would change the address, and URL encoding does not prevent it. */
function isDotSegment(code: string): boolean {
  return code === "." || code === "..";
}

/**
 * Only the deploy service may return users of the console: at its own path, for codes with its prefix, and with
 * `console: true`. For any other service `console` is ignored and user ids of the console are refused.
 */
function checkConsoleUser(
  { uri, reservesConsoleNames, onReservedUser }: VerifyUriOptions,
  { code }: VerifyRequest,
  verified: VerifiedCode,
): VerifyResult {
  if (!isConsoleUser(verified.userId)) return { ...verified, isConsole: false };
  const isDeployService = new URL(uri).pathname.endsWith(ownVerifyPath) && code.startsWith(ownCodePrefix);
  if ((isDeployService && verified.isConsole) || !reservesConsoleNames) return verified;
  onReservedUser();
  return "rejected";
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

function verifiedCodeOf(given: JsonObject, asksTemporary: boolean): VerifiedCode | null {
  const userId = userIdOf(given.userId);
  const { temporary, maxLifetime, channels, join } = given;
  if (userId === null) return null;
  if (!isAbsent(temporary) && typeof temporary !== "boolean") return null;
  if (!isAbsent(maxLifetime) && !(typeof maxLifetime === "number" && maxLifetime >= 0)) return null;
  if (!isAbsent(channels) && !isTextList(channels)) return null;
  if (!isAbsent(join) && typeof join !== "boolean") return null;
  return {
    userId,
    isConsole: given.console === true,
    isTemporary: asksTemporary && temporary !== false,
    maxLifetimeMs: typeof maxLifetime === "number" ? maxLifetime * 1000 : null,
    channels: isTextList(channels) ? channels : null,
    joinsChannels: join !== false,
  };
}

function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

function userIdOf(value: unknown): string | null {
  const text = typeof value === "number" && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof text !== "string" || text === "" || Buffer.byteLength(text) > maxUserIdBytes) return null;
  return text;
}
