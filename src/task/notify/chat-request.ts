import { createHmac } from "node:crypto";
import { isObject, parseJson } from "../../json.ts";
import type { NotifyFormat } from "../../model/settings/notify-target.ts";
import { newReason, type Reason } from "../../reason/reason.ts";
import type { OutgoingAnswer } from "./guarded-request.ts";
import { channelAddressFault } from "./release-message.ts";
import type { TargetAddress } from "./target-address.ts";

export type ChatFormat = Exclude<NotifyFormat, "slipway" | "push">;

/** Formats whose signature needs a secret of the target. */
export const signedFormats: readonly NotifyFormat[] = ["dingtalk", "feishu"];

/** Address and body of one attempt. Signatures contain the time, so each attempt has its own. */
export function chatRequest(
  format: ChatFormat,
  address: TargetAddress,
  body: string,
  nowMs: number,
): { url: string; body: string } {
  const { url, secret } = address;
  if (format === "dingtalk" && secret !== null) return { url: dingtalkUrl(url, secret, nowMs), body };
  if (format === "feishu" && secret !== null) return { url, body: feishuBody(body, secret, nowMs) };
  if (format === "telegram") return telegramRequest(url, body);
  return { url, body };
}

/** DingTalk: the HMAC of "time, line feed, secret" with the secret as key, as a query parameter beside the time in milliseconds. */
function dingtalkUrl(url: string, secret: string, nowMs: number): string {
  const signed = new URL(url);
  const sign = createHmac("sha256", secret).update(`${nowMs}\n${secret}`).digest("base64");
  signed.searchParams.set("timestamp", String(nowMs));
  signed.searchParams.set("sign", sign);
  return signed.href;
}

/** Feishu: the HMAC of nothing with "time, line feed, secret" as key, in the body beside the time in seconds. */
function feishuBody(body: string, secret: string, nowMs: number): string {
  const timestamp = String(Math.floor(nowMs / 1000));
  const sign = createHmac("sha256", `${timestamp}\n${secret}`).digest("base64");
  return JSON.stringify({ timestamp, sign, ...(JSON.parse(body) as object) });
}

/** Telegram takes its parameters in one place; people write the chat into the address. */
function telegramRequest(url: string, body: string): { url: string; body: string } {
  const method = new URL(url);
  const parameters = Object.fromEntries(
    telegramParameters.flatMap((name) => {
      const value = method.searchParams.get(name);
      return value === null ? [] : [[name, name === "message_thread_id" ? Number(value) : value]];
    }),
  );
  method.search = "";
  return { url: method.href, body: JSON.stringify({ ...parameters, ...(JSON.parse(body) as object) }) };
}

const telegramParameters = ["chat_id", "message_thread_id"];

/** Why an address does not fit the format; null: it fits. */
export function chatAddressFault(format: NotifyFormat, url: string): Reason | null {
  const fault = channelAddressFault(format, url);
  if (fault !== null || format !== "telegram") return fault;
  const { pathname, searchParams } = new URL(url);
  const isRight = pathname.endsWith("/sendMessage") && (searchParams.get("chat_id") ?? "") !== "";
  return isRight ? null : newReason("telegram_address");
}

/** Some services answer 200 with an error in the body. Returns the error; null: the message was accepted. */
export function chatAnswerFault(format: ChatFormat, { body }: OutgoingAnswer): Reason | null {
  const rule = answerRules[format];
  if (rule === undefined) return null;
  const parsed = parseJson(body);
  const answer = isObject(parsed) ? parsed : null;
  if (answer !== null && rule.codes.some((code) => answer[code] === rule.taken)) return null;
  const code = rule.codes
    .map((name) => answer?.[name])
    .find((value) => value !== undefined && typeof value !== "object");
  if (answer === null || code === undefined) return newReason("notify_answer", { format });
  const text = rule.texts.map((name) => answer[name]).find((value) => typeof value === "string") ?? "";
  return `${rule.codes[0]} ${String(code)}: ${String(text)}`;
}

const answerRules: Partial<
  Record<ChatFormat, { codes: string[]; taken: number | boolean; texts: string[] }>
> = {
  dingtalk: { codes: ["errcode"], taken: 0, texts: ["errmsg"] },
  wecom: { codes: ["errcode"], taken: 0, texts: ["errmsg"] },
  feishu: { codes: ["code", "StatusCode"], taken: 0, texts: ["msg", "StatusMessage"] },
  telegram: { codes: ["ok"], taken: true, texts: ["description"] },
};
