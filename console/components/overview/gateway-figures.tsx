import { SegmentedControl } from "@mantine/core";
import { useState } from "react";
import { Link } from "wouter";
import type { OverviewData } from "../../overview-query.ts";
import { t } from "../../text/text.ts";
import { Panel } from "../page.tsx";

type Gateway = NonNullable<OverviewData["gateway"]>;
type Point = Gateway["hour"][number];

const width = 300;
const height = 56;
const minuteMs = 60_000;
const stepMs = { hour: minuteMs, day: 15 * minuteMs };
const spanMs = { hour: 60 * minuteMs, day: 24 * 60 * minuteMs };

/** Connections and messages of the gateway over an hour or a day, as the server has kept them. */
export function GatewayFigures({ gateway }: { gateway: Gateway }) {
  const [period, setPeriod] = useState<"hour" | "day">("hour");
  const points = gateway[period];
  const { connections: now, gateways } = gateway;
  const most = Math.max(0, ...points.map(({ connections }) => connections));
  const messages = points.reduce((sum, point) => sum + point.messages, 0);
  const parts = unbroken(points, stepMs[period]);
  const axis = { endMs: Date.parse(gateway.at), spanMs: spanMs[period] };
  return (
    <Panel title={t("overview.gateway")} action={<Link href="/push">{t("overview.gatewayOpen")}</Link>}>
      <SegmentedControl
        size="xs"
        fullWidth
        aria-label={t("overview.gatewayPeriod")}
        value={period}
        onChange={(chosen) => setPeriod(chosen === "day" ? "day" : "hour")}
        data={[
          { value: "hour", label: t("overview.gatewayHour") },
          { value: "day", label: t("overview.gatewayDay") },
        ]}
      />
      {points.length === 0 ? (
        <p className="dim small">{t("overview.noFigures")}</p>
      ) : (
        <>
          <Series
            title={t("overview.connections")}
            figures={
              now === null
                ? t("overview.mostConnections", { most })
                : t("overview.connectionFigures", { now, most })
            }
            parts={parts}
            amountOf={(point) => point.connections}
            kind="connections"
            axis={axis}
          />
          <Series
            title={t("overview.messages")}
            figures={t("overview.messageFigures", { count: messages })}
            parts={parts}
            amountOf={(point) => point.messages}
            kind="messages"
            axis={axis}
          />
          {now === null && <p className="dim small">{t("overview.gatewayAway")}</p>}
          {parts.length > 1 && <p className="dim small">{t("overview.gatewayGap")}</p>}
          {gateways > 1 && <p className="dim small">{t("overview.gatewaySum", { count: gateways })}</p>}
        </>
      )}
    </Panel>
  );
}

/** Points in a row without a missing step between them: a gap is drawn as a gap, not as a line or as zero. */
function unbroken(points: Point[], stepMs: number): Point[][] {
  const parts: Point[][] = [];
  let lastMs = Number.NEGATIVE_INFINITY;
  for (const point of points) {
    const atMs = Date.parse(point.at);
    if (atMs - lastMs > stepMs) parts.push([]);
    parts.at(-1)?.push(point);
    lastMs = atMs;
  }
  return parts;
}

function Series({
  title,
  figures,
  parts,
  amountOf,
  kind,
  axis,
}: {
  title: string;
  figures: string;
  parts: Point[][];
  amountOf: (point: Point) => number;
  kind: string;
  axis: { endMs: number; spanMs: number };
}) {
  const most = Math.max(1, ...parts.flat().map(amountOf));
  const x = (point: Point) =>
    Math.min(Math.max(width - ((axis.endMs - Date.parse(point.at)) / axis.spanMs) * width, 0), width);
  const y = (value: number) => height - 2 - (value / most) * (height - 6);
  return (
    <figure className="series" data-kind={kind}>
      <figcaption>
        <span>{title}</span>
        <span className="figures dim">{figures}</span>
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        {parts.map((points) => {
          const places = points.map((point) => [x(point), y(amountOf(point))] as const);
          const [firstX] = places[0] ?? [0];
          const [lastX, lastY] = places.at(-1) ?? [0, height];
          // A single point is as wide as a pixel or two, so that it can be seen.
          const endX = Math.max(lastX, firstX + 1.5);
          const line = [...places, [endX, lastY] as const]
            .map(([left, top]) => `${left.toFixed(1)},${top.toFixed(1)}`)
            .join(" ");
          return (
            <g key={points[0]?.at}>
              <polygon points={`${firstX.toFixed(1)},${height} ${line} ${endX.toFixed(1)},${height}`} />
              <polyline points={line} />
            </g>
          );
        })}
      </svg>
    </figure>
  );
}
