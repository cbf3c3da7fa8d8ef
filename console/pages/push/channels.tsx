import { Checkbox, Group, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { Panel, reachable } from "../../components/page.tsx";
import { separated } from "../../console-traffic.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";
import { countText } from "../../time-text.ts";
import { visible } from "../../visible.ts";

/** Channels by the number of their members; those of the console on request. */
export function Channels({ channels }: { channels: { name: string; members: number }[] }) {
  const [wanted, setWanted] = useState("");
  const [showsConsole, setShowsConsole] = useState(false);
  const { own, ofConsole } = separated(channels);
  const offered = showsConsole ? channels : own;
  const found = offered.filter(({ name }) => name.toLowerCase().includes(wanted.toLowerCase()));
  return (
    <Panel title={t("push.channels")} about={t("push.channelsAbout")}>
      <Group mb="sm" align="flex-end">
        <TextInput
          type="search"
          label={t("push.channelFilter")}
          value={wanted}
          onChange={(event) => setWanted(event.currentTarget.value)}
        />
        {ofConsole.length > 0 && (
          <Checkbox
            pb={8}
            label={t("push.showConsole", { count: ofConsole.length })}
            checked={showsConsole}
            onChange={(event) => setShowsConsole(event.currentTarget.checked)}
          />
        )}
      </Group>
      {found.length === 0 ? (
        <Text size="sm" c="dimmed">
          {wanted === ""
            ? rich("push.noChannels", { parameter: <code>channel=</code> })
            : t("push.noChannelMatches")}
        </Text>
      ) : (
        <ul className="channel-list" aria-label={t("push.channels")} {...reachable}>
          {found.map(({ name, members }) => (
            <li key={name}>
              <span className="foreign mono">{visible(name)}</span>
              <span className="dim figures">{countText(members)}</span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
