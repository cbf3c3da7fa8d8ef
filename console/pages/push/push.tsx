import { Text } from "@mantine/core";
import { lazy, Suspense } from "react";
import { PageHead, Panel } from "../../components/page.tsx";
import { Loaded } from "../../components/query.tsx";
import { usePushStats } from "../../push-stats.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import { countText, decimalText, sizeText } from "../../time-text.ts";
import { visible } from "../../visible.ts";
import { OnlineUsers } from "./online-users.tsx";
import { PublishForm } from "./publish-form.tsx";
import { TestConnection } from "./test-connection.tsx";

const RatePlot = lazy(() => import("../../components/rate-plot.tsx"));

export default function PushPage() {
  const { query, points, messagesPerSecond } = usePushStats();
  const { data } = query;
  const figures: [string, string][] =
    data === undefined
      ? []
      : [
          [t("push.figure_connections"), countText(data.total)],
          [t("push.figure_normal"), countText(data.normal)],
          [t("push.figure_temporary"), countText(data.temporary)],
          [t("push.figure_channels"), countText(data.channelCount)],
          [t("push.figure_rate"), decimalText(messagesPerSecond)],
          [t("push.figure_buffered"), sizeText(data.buffers.bufferedBytes)],
        ];
  return (
    <>
      <PageHead title={t("push.title")} about={t("push.about")} />
      <div className="stack">
        <Loaded query={query} placeholder={<div className="figures-row figures-empty" />}>
          {() => (
            <div className="figures-row">
              {figures.map(([label, value]) => (
                <div key={label} className="figure">
                  <b>{value}</b>
                  <span>{label}</span>
                </div>
              ))}
            </div>
          )}
        </Loaded>
        <Panel title={t("push.lastMinutes")}>
          <Suspense fallback={<div className="plot" />}>
            <RatePlot points={points} />
          </Suspense>
        </Panel>
        <div className="columns">
          <PublishForm />
          <TestConnection />
        </div>
        <div className="columns">
          <OnlineUsers />
          <Channels channels={data?.channels ?? null} />
        </div>
      </div>
    </>
  );
}

function Channels({ channels }: { channels: { name: string; members: number }[] | null }) {
  return (
    <Panel title={t("push.channels")} about={t("push.channelsAbout")}>
      {channels === null || channels.length === 0 ? (
        <Text size="sm" c="dimmed">
          {rich("push.noChannels", { parameter: <code>channel=</code> })}
        </Text>
      ) : (
        <ul className="channel-list">
          {channels.map((channel) => (
            <li key={channel.name}>
              <span className="foreign mono">{visible(channel.name)}</span>
              <span className="dim figures">{countText(channel.members)}</span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
