import { queryOptions } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import { answerOf, api } from "../../api.ts";
import { Moment } from "../../components/moment.tsx";
import { closeReason } from "../../connection-reason.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import { minuteText } from "../../time-text.ts";
import { visible } from "../../visible.ts";

export type UserTrace = InferResponseType<typeof api.push.messages.$get, 200>;

/** All instances are asked, so it is not repeated by itself. */
export function userTraceQuery(userId: string) {
  return queryOptions({
    queryKey: ["push-messages", userId],
    queryFn: () => answerOf(api.push.messages.$get({ query: { user: userId } })),
    staleTime: 0,
  });
}

/** "42 is offline since …", as far as the gateway knows it. */
export function UserState({ userId, trace: { user, missing } }: { userId: string; trace: UserTrace }) {
  const name = visible(userId);
  if (user === null) return t("push.userUntold", { userId: name });
  const { connections, lastClosed, since } = user;
  const isOnline = connections.some(({ kind }) => kind === "normal");
  if (isOnline) return t("push.userOnline", { userId: name, count: connections.length });
  if (connections.length > 0) return t("push.userTemporary", { userId: name, count: connections.length });
  if (missing.length > 0)
    return t("push.userMissing", {
      userId: name,
      instances: visible(missing.join(t("words.listSeparator"))),
    });
  if (lastClosed === null) return rich("push.userNeverSeen", { userId: name, time: minuteText(since) });
  return rich("push.userOffline", {
    userId: name,
    ago: <Moment at={lastClosed.at} />,
    reason: closeReason(lastClosed.closeCode),
  });
}
