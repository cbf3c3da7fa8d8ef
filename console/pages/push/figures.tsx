import { Text } from "@mantine/core";
import { lazy, Suspense } from "react";
import { Panel } from "../../components/page.tsx";
import { Loaded } from "../../components/query.tsx";
import { separated } from "../../console-traffic.ts";
import type { usePushStats } from "../../push-stats.ts";
import { t } from "../../text/text.ts";
import { countText, decimalText, sizeText } from "../../time-text.ts";

const RatePlot = lazy(() => import("../../components/rate-plot.tsx"));

/** Figures of the gateway, without the connections and channels of the console. */
export function Figures({ query, points, messagesPerSecond }: ReturnType<typeof usePushStats>) {
  return (
    <>
      <Loaded query={query} placeholder={<div className="figures-row figures-empty" />}>
        {({ total, normal, temporary, console: own, channelCount, channels, buffers }) => {
          const { ofConsole } = separated(channels);
          const figures: [string, string][] = [
            [t("push.figure_connections"), countText(total - own)],
            [t("push.figure_normal"), countText(normal)],
            [t("push.figure_temporary"), countText(temporary - own)],
            [t("push.figure_channels"), countText(channelCount - ofConsole.length)],
            [t("push.figure_rate"), decimalText(messagesPerSecond)],
            [t("push.figure_buffered"), sizeText(buffers.bufferedBytes)],
          ];
          return (
            <div>
              <div className="figures-row">
                {figures.map(([label, value]) => (
                  <div key={label} className="figure">
                    <b>{value}</b>
                    <span>{label}</span>
                  </div>
                ))}
              </div>
              <Text size="sm" c="dimmed" mt="xs">
                {t("push.withoutConsole", {
                  connections: t("push.consoleConnections", { count: own }),
                  channels: t("push.consoleChannels", { count: ofConsole.length }),
                })}
              </Text>
            </div>
          );
        }}
      </Loaded>
      <Panel title={t("push.lastMinutes")}>
        <Suspense fallback={<div className="plot" />}>
          <RatePlot points={points} />
        </Suspense>
      </Panel>
    </>
  );
}
