import type { LogSegment, LogSource } from "../log-lines.ts";
import { t } from "../text/text.ts";
import { durationText } from "../time-text.ts";
import { Icon } from "./icon.tsx";

/** The head of a step in the log: its name, its length, and the button that hides its lines. */
export function StepHead({
  log,
  segment,
  top,
  isCollapsed,
  onToggle,
}: {
  log: LogSource;
  segment: LogSegment;
  top: number;
  isCollapsed: boolean;
  onToggle: (segment: LogSegment) => void;
}) {
  const { stage, title, from, to } = segment;
  // The other stages have their times in the list of stages; the last line of a checkout is written at its end.
  const duration = stage === "checkout" ? log.timeAt(to - 1) - log.timeAt(from) : 0;
  return (
    <button
      type="button"
      className="log-head"
      style={{ transform: `translateY(${top}px)` }}
      aria-expanded={!isCollapsed}
      title={t(isCollapsed ? "task.expand" : "task.collapse", { stage: title })}
      onClick={() => onToggle(segment)}
    >
      <Icon name={isCollapsed ? "right" : "down"} size={13} />
      <b className="log-stage">{title}</b>
      <span>
        {t("task.lineCount", { count: to - from })}
        {duration >= 100 && ` · ${durationText(duration)}`}
      </span>
    </button>
  );
}
