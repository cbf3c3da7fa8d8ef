import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import { t } from "../text/text.ts";
import { clockText } from "../time-text.ts";

export interface RatePoint {
  atMs: number;
  connections: number;
  messagesPerSecond: number;
}

const height = 170;
const shownSeconds = 300;

/** Connections and messages per second over the last minutes. Drawn on a canvas, so the figures beside it say it in words. */
export default function RatePlot({ points }: { points: RatePoint[] }) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const scheme = useComputedColorScheme("light");

  // Made anew for another scheme: a canvas has no CSS colours.
  useEffect(() => {
    const element = holder.current;
    if (element === null) return;
    const made = new uPlot(optionsFor(scheme, element.clientWidth), [[], [], []], element);
    plot.current = made;
    const watcher = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [scheme]);

  useEffect(() => {
    plot.current?.setData([
      points.map((point) => point.atMs / 1000),
      points.map((point) => point.connections),
      points.map((point) => point.messagesPerSecond),
    ]);
  }, [points]);

  return (
    <>
      <div ref={holder} className="plot" aria-hidden="true" />
      <div className="plot-legend">
        <span>
          <i style={{ background: connectionColor }} />
          {t("gateway.connections")}
        </span>
        <span>
          <i style={{ background: messageColor }} />
          {t("gateway.messagesPerSecond")}
        </span>
      </div>
    </>
  );
}

const connectionColor = "#2f97a0";
const messageColor = "#e99b2d";

function optionsFor(scheme: "light" | "dark", width: number): uPlot.Options {
  const line = scheme === "dark" ? "#243136" : "#e1e5e0";
  const text = scheme === "dark" ? "#9db0b3" : "#5a6663";
  const axis = {
    stroke: text,
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
    font: "11px system-ui",
  };
  return {
    width,
    height,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { range: () => [Date.now() / 1000 - shownSeconds, Date.now() / 1000] },
      count: { range: (_, __, max) => [0, Math.max(4, Math.ceil((max ?? 0) * 1.2))] },
      rate: { range: (_, __, max) => [0, Math.max(4, Math.ceil((max ?? 0) * 1.2))] },
    },
    series: [
      {},
      { scale: "count", stroke: connectionColor, width: 2, points: { show: false } },
      { scale: "rate", stroke: messageColor, width: 2, points: { show: false } },
    ],
    axes: [
      {
        ...axis,
        incrs: [60, 120, 300],
        space: 70,
        size: 34,
        values: (_, seconds) => seconds.map((each) => clockText(each * 1000)),
      },
      { ...axis, scale: "count", size: 44 },
      { ...axis, scale: "rate", side: 1, size: 44, grid: { show: false } },
    ],
  };
}
