import { Text } from "@mantine/core";
import { lazy, Suspense } from "react";
import { PageHead, Panel } from "../../components/page.tsx";
import { Loaded } from "../../components/query.tsx";
import { usePushStats } from "../../push-stats.ts";
import { sizeText } from "../../time-text.ts";
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
          ["connections", String(data.total)],
          ["normal", String(data.normal)],
          ["temporary", String(data.temporary)],
          ["channels", String(data.channelCount)],
          ["messages a second", messagesPerSecond.toFixed(1)],
          ["waiting to be sent", sizeText(data.buffers.bufferedBytes)],
        ];
  return (
    <>
      <PageHead title="Push gateway" about="Who is connected, and what is sent to them." />
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
        <Panel title="The last minutes">
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
    <Panel title="Channels" about="Names that connections have joined on this instance.">
      {channels === null || channels.length === 0 ? (
        <Text size="sm" c="dimmed">
          Nobody has joined a channel. Clients join with <code>channel=</code> in the address, or by a join
          frame.
        </Text>
      ) : (
        <ul className="channel-list">
          {channels.map((channel) => (
            <li key={channel.name}>
              <span className="foreign mono">{visible(channel.name)}</span>
              <span className="dim figures">{channel.members}</span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
