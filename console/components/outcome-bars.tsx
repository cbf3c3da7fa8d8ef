import { Tooltip } from "@mantine/core";
import type { DeliveryStatus } from "../delivery-filters.ts";
import { t } from "../text/text.ts";
import { clockText } from "../time-text.ts";

export interface OutcomeCount {
  at: string;
  status: DeliveryStatus;
  count: number;
}

const hourMs = 3_600_000;

/** From the bottom up. */
const order: { status: DeliveryStatus; color: string }[] = [
  { status: "accepted", color: "var(--state-success)" },
  { status: "merged", color: "var(--state-running)" },
  { status: "ignored", color: "var(--line-strong)" },
  { status: "rejected", color: "var(--mantine-color-lamp-5)" },
  { status: "failed", color: "var(--state-failed)" },
];

interface Hour {
  startMs: number;
  counts: Map<DeliveryStatus, number>;
  total: number;
}

/** Deliveries of the last day, one bar per hour. */
export function OutcomeBars({ counts, toMs }: { counts: OutcomeCount[]; toMs: number }) {
  const hours = hoursOf(counts, toMs);
  const most = Math.max(1, ...hours.map((hour) => hour.total));
  const total = hours.reduce((sum, hour) => sum + hour.total, 0);
  return (
    <>
      <div className="bars" role="img" aria-label={t("gateway.deliveriesInDay", { count: total })}>
        {hours.map((hour) => (
          <Tooltip key={hour.startMs} label={hourText(hour)} multiline>
            <div className="bar">
              {order.map(({ status, color }) => {
                const count = hour.counts.get(status) ?? 0;
                if (count === 0) return null;
                return <i key={status} style={{ height: `${(count / most) * 100}%`, background: color }} />;
              })}
            </div>
          </Tooltip>
        ))}
      </div>
      <div className="bars-scale" aria-hidden="true">
        <span>{t("gateway.dayAgo")}</span>
        <span>{t("gateway.now")}</span>
      </div>
      <div className="plot-legend">
        {order.map(({ status, color }) => (
          <span key={status}>
            <i style={{ background: color }} />
            {countOf(
              status,
              hours.reduce((sum, hour) => sum + (hour.counts.get(status) ?? 0), 0),
            )}
          </span>
        ))}
      </div>
    </>
  );
}

export function hoursOf(counts: OutcomeCount[], toMs: number): Hour[] {
  const firstMs = toMs - 24 * hourMs;
  const hours = Array.from({ length: 24 }, (_, index): Hour => {
    return { startMs: firstMs + index * hourMs, counts: new Map(), total: 0 };
  });
  for (const { at, status, count } of counts) {
    const index = Math.floor((Date.parse(at) - firstMs) / hourMs);
    const hour = hours[Math.min(23, Math.max(0, index))];
    if (hour === undefined) continue;
    hour.counts.set(status, (hour.counts.get(status) ?? 0) + count);
    hour.total += count;
  }
  return hours;
}

function hourText(hour: Hour): string {
  const parts = order
    .filter(({ status }) => hour.counts.has(status))
    .map(({ status }) => countOf(status, hour.counts.get(status) ?? 0));
  return t("gateway.hour", {
    from: clockText(hour.startMs),
    to: clockText(hour.startMs + hourMs),
    parts: parts.join(t("words.listSeparator")) || t("gateway.nothing"),
  });
}

function countOf(status: DeliveryStatus, count: number): string {
  return t("gateway.statusCount", { state: t(`state.${status}`), count });
}
