import type { MouseEvent } from "react";
import { Link, useLocation } from "wouter";
import type { OverviewRow } from "../../overview-query.ts";
import { t } from "../../text/text.ts";
import { durationText, exactText } from "../../time-text.ts";
import { toneOf } from "../state.tsx";

type Run = OverviewRow["runs"][number];

const places = 20;
const step = 7;
const height = 20;

/** The last runs as marks, the newest at the right. A click opens the run; the keyboard opens the list of the runs. */
export function RunStrip({ projectId, runs }: { projectId: number; runs: Run[] }) {
  const [, go] = useLocation();
  if (runs.length === 0) return <span className="dim small">{t("overview.noRuns")}</span>;
  const failed = runs.filter(({ state }) => ["failed", "timeout", "lost"].includes(state)).length;
  const succeeded = runs.filter(({ state }) => state === "success").length;
  const first = places - runs.length;
  const open = (event: MouseEvent) => {
    const box = event.currentTarget.getBoundingClientRect();
    const place = Math.floor(((event.clientX - box.left) / box.width) * places) - first;
    const run = runs[place];
    // A click by the keyboard has no place.
    if (event.detail === 0 || run === undefined) return;
    event.preventDefault();
    go(`/tasks/${run.id}`);
  };
  return (
    <Link href={`/projects/${projectId}/tasks`} className="run-strip" onClick={open}>
      <svg
        width={places * step}
        height={height}
        viewBox={`0 0 ${places * step} ${height}`}
        role="img"
        aria-label={t("overview.runsLabel", { count: runs.length, succeeded, failed })}
      >
        {Array.from({ length: first }, (_, index) => (index * step + step / 2).toFixed(1)).map((x) => (
          <circle key={x} cx={x} cy={height - 2} r={1} />
        ))}
        {runs.map((run, index) => (
          <rect
            key={run.id}
            x={(first + index) * step + 1}
            y={heightOf(run) === height ? 0 : height - heightOf(run)}
            width={step - 2}
            height={heightOf(run)}
            rx={1.5}
            data-tone={run.nothingRan ? "waiting" : toneOf[run.state]}
            data-state={run.state}
            data-empty={run.nothingRan || undefined}
          >
            <title>{titleOf(run)}</title>
          </rect>
        ))}
      </svg>
    </Link>
  );
}

/** A canceled or empty run is lower, so that colour is not the only sign; a failed one is as high as possible. */
function heightOf({ state, nothingRan }: Run): number {
  if (nothingRan || state === "canceled") return 7;
  return ["failed", "timeout", "lost"].includes(state) ? height : 14;
}

function titleOf({ id, state, at, ms, nothingRan }: Run): string {
  const values = {
    id: String(id),
    state: nothingRan ? t("overview.nothingRan") : t(`state.${state}`),
    when: exactText(at),
  };
  return ms === null
    ? t("overview.runTitle", values)
    : t("overview.runTitleDuration", { ...values, duration: durationText(ms) });
}
