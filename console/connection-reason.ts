import type { PushStatus } from "../client/slipway-push.ts";
import { t } from "./text/text.ts";

/** Close codes that the console explains. */
const explained = [
  1000, 1001, 1005, 1006, 1012, 4000, 4001, 4002, 4003, 4004, 4005, 4100, 4102, 4201, 4301,
] as const;

/** How the push client begins the reason when it got no code for the connection. */
const noCode = "no code: ";

/** Why a connection waits or is closed, in the language of the page. */
export function connectionReason({ reason, closeCode }: PushStatus): string {
  if (reason.startsWith(noCode)) return t("live.reasonNoCode", { problem: reason.slice(noCode.length) });
  return closeReason(closeCode ?? 1000);
}

export function closeReason(closeCode: number): string {
  const known = explained.find((code) => code === closeCode);
  return known === undefined ? t("live.reasonOther", { code: String(closeCode) }) : t(`live.reason_${known}`);
}
