import { Alert } from "@mantine/core";
import { useLayoutEffect } from "react";
import { useStaleSince } from "../reachability.ts";
import { t } from "../text/text.ts";
import { clockText, exactText } from "../time-text.ts";

/** Says that the page shows old data. Meanwhile the states on it are dimmed, also those in dialogs. */
export function Unreachable() {
  const since = useStaleSince();
  const isStale = since !== null;
  useLayoutEffect(() => {
    document.documentElement.toggleAttribute("data-stale", isStale);
  }, [isStale]);
  if (since === null) return null;
  return (
    <Alert color="red" variant="filled" role="alert" className="unreachable">
      <b>{t("warning.unreachable", { time: timeText(since) })}</b>
    </Alert>
  );
}

/** A page may stay open for days. */
function timeText(ms: number): string {
  const at = new Date(ms);
  return at.toDateString() === new Date().toDateString() ? clockText(ms) : exactText(at.toISOString());
}
