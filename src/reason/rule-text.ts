import { newReason, type Reason, type ReasonCode, type Values } from "./reason.ts";

/** What a schema says about a wrong value. The library of schemas takes text only, so the reason travels as JSON. */
export function ruleText<Code extends ReasonCode>(code: Code, ...values: Values<Code>): string {
  return JSON.stringify(newReason(code, ...values));
}

/** The reason in the message of a schema, which may be a text of the library itself. */
export function reasonOfRule(message: string): Reason {
  return message.startsWith('{"code":') ? (JSON.parse(message) as Reason) : message;
}
