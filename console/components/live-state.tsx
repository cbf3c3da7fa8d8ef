import { Tooltip } from "@mantine/core";
import { useLiveStatus } from "../live.ts";
import { visible } from "../visible.ts";
import { useNow } from "./moment.tsx";

/** The truth about the live connection: what is shown may be some seconds old whenever it does not say "Live". */
export function LiveState() {
  const { state, reason, retryAt } = useLiveStatus();
  const now = useNow();
  const seconds = retryAt === null ? 0 : Math.max(0, Math.ceil((retryAt - now) / 1000));
  const texts = {
    open: ["Live", "Changes appear by themselves, through the push gateway."],
    connecting: ["Connecting", "Until the live connection stands, the page asks every few seconds."],
    waiting: [
      `Polling, retry in ${seconds} s`,
      `The live connection is away (${reason}). The page asks every few seconds instead, and nothing is missed.`,
    ],
    closed: [
      "Not live",
      `The live connection is closed (${reason}). The page asks every few seconds instead.`,
    ],
  } as const;
  const [label, about] = texts[state];
  return (
    <Tooltip label={visible(about)} multiline w={280} position="right">
      <span className="live-state" data-state={state} role="status" aria-label={`Live connection: ${label}`}>
        <span className="live-dot" aria-hidden="true" />
        {label}
      </span>
    </Tooltip>
  );
}
