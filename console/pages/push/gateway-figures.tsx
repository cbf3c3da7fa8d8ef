import { SegmentedControl } from "@mantine/core";
import type { InferResponseType } from "hono/client";
import { useState } from "react";
import type { api } from "../../api.ts";
import { Panel } from "../../components/page.tsx";
import { Series, unbroken } from "../../components/series.tsx";
import { t } from "../../text/text.ts";

type Gateway = NonNullable<InferResponseType<typeof api.push.history.$get, 200>>;

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
    <Panel title={t("push.history")}>
      <SegmentedControl
        size="xs"
        fullWidth
        aria-label={t("gateway.period")}
        value={period}
        onChange={(chosen) => setPeriod(chosen === "day" ? "day" : "hour")}
        data={[
          { value: "hour", label: t("gateway.hour") },
          { value: "day", label: t("gateway.day") },
        ]}
      />
      {points.length === 0 ? (
        <p className="dim small">{t("gateway.noFigures")}</p>
      ) : (
        <>
          <Series
            title={t("gateway.connections")}
            figures={
              now === null
                ? t("gateway.mostConnections", { most })
                : t("gateway.connectionFigures", { now, most })
            }
            parts={parts}
            amountOf={(point) => point.connections}
            kind="connections"
            axis={axis}
          />
          <Series
            title={t("gateway.messages")}
            figures={t("gateway.messageFigures", { count: messages })}
            parts={parts}
            amountOf={(point) => point.messages}
            kind="messages"
            axis={axis}
          />
          {now === null && <p className="dim small">{t("gateway.away")}</p>}
          {parts.length > 1 && <p className="dim small">{t("gateway.gap")}</p>}
          {gateways > 1 && <p className="dim small">{t("gateway.sum", { count: gateways })}</p>}
        </>
      )}
    </Panel>
  );
}
