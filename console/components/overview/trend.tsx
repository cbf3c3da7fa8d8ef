import type { OverviewRow } from "../../overview-query.ts";
import { percentText } from "../../percent-text.ts";
import { t } from "../../text/text.ts";
import { durationText } from "../../time-text.ts";

type Period = OverviewRow["last30Days"];

/** Smaller changes are noise. */
const leastPoints = 1;
const leastShare = 0.1;

/** Success rate of 30 days, compared with the 30 days before. */
export function SuccessRate({ now, before }: { now: Period; before: Period }) {
  if (now === null) return <NoData />;
  const rate = rateOf(now);
  const points = before === null ? null : Math.round((rate - rateOf(before)) * 100);
  return (
    <span className="trend">
      <span className="figures">{percentText(rate)}</span>
      {points !== null && (
        <Change
          direction={Math.abs(points) < leastPoints ? 0 : points}
          isGood={points > 0}
          amount={t("overview.points", { count: Math.abs(points) })}
        />
      )}
    </span>
  );
}

/** Median duration of 30 days, compared with the 30 days before: less is better. */
export function MedianDuration({ now, before }: { now: Period; before: Period }) {
  if (!now || now.medianMs === null) return <NoData />;
  const earlier = before?.medianMs ?? null;
  const change = earlier === null || earlier === 0 ? null : (now.medianMs - earlier) / earlier;
  return (
    <span className="trend">
      <span className="figures nowrap">{durationText(now.medianMs)}</span>
      {change !== null && (
        <Change
          direction={Math.abs(change) < leastShare ? 0 : change}
          isGood={change < 0}
          amount={percentText(Math.abs(change))}
        />
      )}
    </span>
  );
}

function Change({ direction, isGood, amount }: { direction: number; isGood: boolean; amount: string }) {
  const label =
    direction === 0
      ? t("overview.same")
      : t(isGood ? "overview.better" : "overview.worse", { change: amount });
  return (
    <svg
      width="12"
      height="12"
      viewBox="0 0 12 12"
      role="img"
      aria-label={label}
      className="trend-mark"
      data-tone={direction === 0 ? "waiting" : isGood ? "success" : "failed"}
    >
      <title>{label}</title>
      <path
        d={
          direction === 0
            ? "M2 6h8"
            : direction > 0
              ? "M6 10V2M2.5 5.5 6 2l3.5 3.5"
              : "M6 2v8M2.5 6.5 6 10l3.5-3.5"
        }
      />
    </svg>
  );
}

function NoData() {
  return (
    <span className="dim" title={t("overview.noData")}>
      –
    </span>
  );
}

function rateOf({ runs, succeeded }: NonNullable<Period>): number {
  return runs === 0 ? 0 : succeeded / runs;
}
