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
const spanMs = { hour: 59 * 60_000, day: 95 * 15 * 60_000 };

/** Connections and messages of the gateway over an hour or a day, as the server has kept them. */
export function GatewayFigures({ gateway }: { gateway: Gateway }) {
  const [period, setPeriod] = useState<"hour" | "day">("hour");
  const points = gateway[period];
  const now = gateway.hour.at(-1)?.connections ?? 0;
  const most = Math.max(0, ...points.map(({ connections }) => connections));
  const messages = points.reduce((sum, point) => sum + point.messages, 0);
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
            figures={t("overview.connectionFigures", { now, most })}
            points={points}
            amountOf={(point) => point.connections}
            kind="connections"
            spanMs={spanMs[period]}
          />
          <Series
            title={t("overview.messages")}
            figures={t("overview.messageFigures", { count: messages })}
            points={points}
            amountOf={(point) => point.messages}
            kind="messages"
            spanMs={spanMs[period]}
          />
        </>
      )}
    </Panel>
  );
}

function Series({
  title,
  figures,
  points,
  amountOf,
  kind,
  spanMs,
}: {
  title: string;
  figures: string;
  points: Point[];
  amountOf: (point: Point) => number;
  kind: string;
  spanMs: number;
}) {
  const values = points.map(amountOf);
  const most = Math.max(1, ...values);
  const endMs = Date.parse(points.at(-1)?.at ?? "");
  const x = (point: Point) => width - ((endMs - Date.parse(point.at)) / spanMs) * width;
  const y = (value: number) => height - 2 - (value / most) * (height - 6);
  const line = points
    .map((point) => `${Math.max(0, x(point)).toFixed(1)},${y(amountOf(point)).toFixed(1)}`)
    .join(" ");
  const start = points[0] === undefined ? width : Math.max(0, x(points[0]));
  return (
    <figure className="series" data-kind={kind}>
      <figcaption>
        <span>{title}</span>
        <span className="figures dim">{figures}</span>
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        <polygon points={`${start.toFixed(1)},${height} ${line} ${width},${height}`} />
        <polyline points={line} />
      </svg>
    </figure>
  );
}
