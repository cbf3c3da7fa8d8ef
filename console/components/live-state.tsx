import { Tooltip } from "@mantine/core";
import { connectionReason } from "../connection-reason.ts";
import { useLiveStatus } from "../live.ts";
import { useStaleSince } from "../reachability.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";
import { useNow } from "./moment.tsx";

/** The state of the live connection. Unless it is "Live", the content of the page may be some seconds old. */
export function LiveState() {
  const status = useLiveStatus();
  const isAway = useStaleSince() !== null;
  const { retryAt } = status;
  const state = isAway ? (status.state === "open" ? "silent" : "offline") : status.state;
  const now = useNow();
  const seconds = retryAt === null ? 0 : Math.max(0, Math.ceil((retryAt - now) / 1000));
  const label = state === "waiting" ? t("live.waiting", { seconds }) : t(`live.${state}`);
  const about =
    state === "waiting" || state === "closed"
      ? t(`live.${state}About`, { reason: connectionReason(status) })
      : t(`live.${state}About`);
  return (
    <Tooltip label={visible(about)} multiline w={280} position="right">
      <span
        className="live-state"
        data-state={state}
        role="status"
        aria-label={t("live.label", { state: label })}
      >
        <span className="live-dot" aria-hidden="true" />
        {label}
      </span>
    </Tooltip>
  );
}
