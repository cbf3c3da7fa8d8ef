import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { answerOf, api } from "../../api.ts";
import { Panel, Rows } from "../../components/page.tsx";
import { Loaded } from "../../components/query.tsx";
import { separated } from "../../console-traffic.ts";
import type { usePushStats } from "../../push-stats.ts";
import { t } from "../../text/text.ts";
import { countText, decimalText, sizeText } from "../../time-text.ts";
import { GatewayFigures } from "./gateway-figures.tsx";

/** As often as the server takes samples. */
const historyMs = 15_000;

/** Figures of the gateway, without the connections and channels of the console. */
export function Figures({ query, messagesPerSecond }: ReturnType<typeof usePushStats>) {
  const history = useQuery({
    queryKey: ["push-history"],
    queryFn: () => answerOf(api.push.history.$get()),
    refetchInterval: historyMs,
  });
  return (
    <>
      <Loaded query={query} placeholder={<Amounts stats={undefined} />}>
        {(stats) => <Amounts stats={{ ...stats, messagesPerSecond }} />}
      </Loaded>
      <Loaded
        query={history}
        placeholder={
          <Panel title={t("push.history")}>
            <Rows count={2} shape="plots" />
          </Panel>
        }
      >
        {(gateway) => gateway !== null && <GatewayFigures gateway={gateway} />}
      </Loaded>
    </>
  );
}

type Stats = NonNullable<ReturnType<typeof usePushStats>["query"]["data"]> &
  Pick<ReturnType<typeof usePushStats>, "messagesPerSecond">;

const none = "\u00a0";

/** Their places are there before the amounts are. */
function Amounts({ stats }: { stats: Stats | undefined }) {
  const ofConsole = stats === undefined ? [] : separated(stats.channels).ofConsole;
  const amounts: [string, (known: Stats) => string][] = [
    [t("push.figure_connections"), ({ total, console: own }) => countText(total - own)],
    [t("push.figure_normal"), ({ normal }) => countText(normal)],
    [t("push.figure_temporary"), ({ temporary, console: own }) => countText(temporary - own)],
    [t("push.figure_channels"), ({ channelCount }) => countText(channelCount - ofConsole.length)],
    [t("push.figure_rate"), ({ messagesPerSecond }) => decimalText(messagesPerSecond)],
    [t("push.figure_buffered"), ({ buffers }) => sizeText(buffers.bufferedBytes)],
  ];
  return (
    <div>
      <div className="figures-row">
        {amounts.map(([label, textOf]) => (
          <div key={label} className="figure">
            <b>{stats === undefined ? none : textOf(stats)}</b>
            <span>{label}</span>
          </div>
        ))}
      </div>
      <Text size="sm" c="dimmed" mt="xs">
        {stats === undefined
          ? none
          : t("push.withoutConsole", {
              connections: t("push.consoleConnections", { count: stats.console }),
              channels: t("push.consoleChannels", { count: ofConsole.length }),
            })}
      </Text>
    </div>
  );
}
