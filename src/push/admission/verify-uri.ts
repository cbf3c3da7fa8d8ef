import { isConsoleUser } from "../../model/console-names.ts";
import { isRecord, isTextList } from "../message/message.ts";
import { type CodeQuestion, type Identity, ownCodePrefix, type Verdict } from "./code-verifier.ts";

export interface VerifyUriOptions {
  uri: string;
  method: "GET" | "POST";
  timeoutMs: number;
  fetch: (url: string, init: BunFetchRequestInit) => Promise<Response>;
  /** Whether user ids of the console are refused unless a trusted deploy service answers. */
  reservesConsoleNames: boolean;
  /** Why an answer could not be used; never the address, the code or the answer. */
  onUnusable: (reason: string) => void;
  /** An answer was refused because it named a user id of the console. */
  onReservedUser: () => void;
}

const maxAnswerBytes = 64 * 1024;
const maxUserIdBytes = 255;
/** The path at which a deploy service verifies its codes. */
const ownVerifyPath = "/api/push/verify";
const refusingStatuses = new Set([400, 401, 403, 404, 410, 422]);

/** Asks verify-uri once. Codes may be single-use, so a request that may have arrived is never sent again. */
export function verifyByUri(options: VerifyUriOptions): (question: CodeQuestion) => Promise<Verdict> {
  return async (question) => {
    const unusable = (reason: string): Verdict => {
      options.onUnusable(reason);
      return "verify_unavailable";
    };
    if (isPathStep(question.code)) return "rejected";
    const answer = await ask(options, question);
    if ("unusable" in answer) return unusable(answer.unusable);
    if (refusingStatuses.has(answer.status)) return "rejected";
    if (answer.status < 200 || answer.status > 299) return unusable(`it answered ${answer.status}`);
    const verdict = readAnswer(answer.text, question.asksTemporary);
    if (verdict === null) return unusable("the response has an unknown format");
    return typeof verdict === "string" ? verdict : withoutForeignConsole(options, question, verdict);
  };
}

/** In the place of `{code}` these would lead to another address of the service, which no encoding prevents. */
function isPathStep(code: string): boolean {
  return code === "." || code === "..";
}

/**
 * Only the deploy service may confirm users of the console: at its own path, for its own codes, and with its header. For
 * any other service the header is ignored and user ids of the console are refused.
 */
function withoutForeignConsole(
  { uri, reservesConsoleNames, onReservedUser }: VerifyUriOptions,
  { code }: CodeQuestion,
  identity: Identity,
): Verdict {
  if (!isConsoleUser(identity.userId)) return { ...identity, isConsole: false };
  const isOurs = new URL(uri).pathname.endsWith(ownVerifyPath) && code.startsWith(ownCodePrefix);
  if ((isOurs && identity.isConsole) || !reservesConsoleNames) return identity;
  onReservedUser();
  return "rejected";
}

async function ask(
  options: VerifyUriOptions,
  question: CodeQuestion,
): Promise<{ status: number; text: string } | { unusable: string }> {
  const controller = new AbortController();
  const { signal } = controller;
  // Not AbortSignal.timeout: that one would live on for the whole time, and in a flood of attempts there would be thousands.
  const timer = setTimeout(() => controller.abort(), options.timeoutMs);
  try {
    const response = await options.fetch(addressOf(options, question), {
      ...requestOf(options.method, question),
      redirect: "manual",
      // The runtime repeats a GET by itself on a kept-alive connection that went stale.
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

function addressOf({ uri, method }: VerifyUriOptions, { code, asksTemporary }: CodeQuestion): string {
  if (method === "POST") return uri.replaceAll("{code}", encodeURIComponent(code));
  const temp = asksTemporary ? "temp=1" : "";
  const inPlace = uri.includes("{code}");
  const address = uri.replaceAll("{code}", encodeURIComponent(code));
  const query = [inPlace ? "" : `code=${encodeURIComponent(code)}`, temp].filter((part) => part !== "");
  if (query.length === 0) return address;
  return `${address}${address.includes("?") ? "&" : "?"}${query.join("&")}`;
}

function requestOf(method: "GET" | "POST", question: CodeQuestion): BunFetchRequestInit {
  if (method === "GET") return { method, headers: { accept: "application/json" } };
  const { code, asksTemporary: temp, address: ip, origin } = question;
  return {
    method,
    headers: { accept: "application/json", "content-type": "application/json" },
    body: JSON.stringify({ code, temp, ip, origin }),
  };
}

/** Null when it is longer than allowed; the rest is not read. */
async function readLimited(response: Response): Promise<string | null> {
  const { headers } = response;
  const length = headers.get("content-length");
  if (Number(length) > maxAnswerBytes) {
    await response.body?.cancel();
    return null;
  }
  // A declared length is kept to by the runtime, so that nothing need be counted, unless the text was packed.
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

/** Null: not understood. */
export function readAnswer(text: string, asksTemporary: boolean): Verdict | null {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(answer))
    return typeof answer === "string" ? identityOf({ userId: answer }, asksTemporary) : null;
  if (!("successful" in answer || "code" in answer)) return identityOf(answer, asksTemporary);
  if (answer.successful === false) return "rejected";
  if (answer.code !== undefined && typeof answer.code !== "number") return null;
  if (answer.code !== undefined && answer.code !== 0) return "rejected";
  if (answer.data === undefined) return identityOf(answer, asksTemporary);
  if (isRecord(answer.data)) return identityOf(answer.data, asksTemporary);
  return typeof answer.data === "string" || typeof answer.data === "number"
    ? identityOf({ userId: answer.data }, asksTemporary)
    : null;
}

function identityOf(given: Record<string, unknown>, asksTemporary: boolean): Identity | null {
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
