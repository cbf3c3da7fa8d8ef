import { SegmentedControl } from "@mantine/core";
import { useState } from "react";
import { Link } from "wouter";
import type { OverviewData } from "../../overview-query.ts";
import { t } from "../../text/text.ts";
import { Panel } from "../page.tsx";
import { Series, unbroken } from "../series.tsx";

type Gateway = NonNullable<OverviewData["gateway"]>;

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
