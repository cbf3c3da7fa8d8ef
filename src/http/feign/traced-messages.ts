import type { BunRequest } from "bun";
import { isConsoleTarget, isConsoleUser } from "../../model/console/console-names.ts";
import type { ReportedMessage } from "../../model/gateway/message-report.ts";
import type { Gateway } from "../../push/gateway.ts";
import { failureCodes } from "../../push/message/failure-codes.ts";
import { isUserId } from "../../push/message/user-id.ts";
import { traceReport, withContents } from "../../push/trace-report.ts";
import { renderReason } from "../../reason/reason.ts";
import type { CallHead } from "../call-head.ts";
import { addressOf } from "../request-address.ts";
import type { CallerRules } from "./feign-callers.ts";
import { consoleRefusal, fail, succeed } from "./feign-envelope.ts";

/** `GET /feign/messages/{id}`: what became of one message, on all instances. */
export async function tracedMessage(
  gateway: Gateway,
  callers: CallerRules,
  request: Request,
  head: CallHead,
): Promise<Response> {
  if (!gateway.trace.isOn) return traceIsOff();
  const messageId = (request as BunRequest<"/feign/messages/:id">).params.id;
  const { messages, since, missing } = traceReport(await gateway.control.askMessages({ messageId }));
  const [message] = messages;
  const isHidden = message && isConsoleTarget(message.targetType, message.target);
  if (!message || (isHidden && !callers.mayActForConsole(head)))
    return fail(failureCodes.noTrace, `No instance knows this message${sinceText(since, missing)}.`);
  const [shown] = shownTo(callers, head, gateway, [message]);
  return succeed({ ...shown, since, missing });
}

/** `GET /feign/messages?user=`: what became of the last messages to a user, on all instances. */
export async function tracedMessages(
  gateway: Gateway,
  callers: CallerRules,
  request: Request,
  head: CallHead,
): Promise<Response> {
  const userId = addressOf(request).searchParams.get("user") ?? "";
  if (!isUserId(userId)) return fail(failureCodes.target, "user must be a user id of 1 to 255 bytes.");
  if (isConsoleUser(userId) && !callers.mayActForConsole(head))
    return fail(consoleRefusal.code, consoleRefusal.message);
  if (!gateway.trace.isOn) return traceIsOff();
  const { messages, refusedTokens, ...report } = traceReport(await gateway.control.askMessages({ userId }));
  return succeed({
    messages: shownTo(callers, head, gateway, messages),
    refusedTokens: refusedTokens.map((token) => ({ ...token, why: renderReason(token.cause) })),
    ...report,
  });
}

/** Contents are only for the deploy service, which shows them to admins. */
function shownTo(callers: CallerRules, head: CallHead, { trace }: Gateway, messages: ReportedMessage[]) {
  const shown = callers.hasDeployKey(head) ? withContents(messages, trace) : messages;
  return shown.map((message) => ({ ...message, why: renderReason(message.cause) }));
}

function traceIsOff(): Response {
  return fail(failureCodes.noTrace, "Messages are not traced: push.trace-messages is 0.");
}

function sinceText(since: string | null, missing: readonly string[]): string {
  const known = since === null ? "" : `; messages since ${since} are known`;
  return missing.length === 0 ? known : `${known}; without an answer in time from ${missing.join(", ")}`;
}
