import { Button, Group, Text, TextInput } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { type PushMessage, type PushProblem, SlipwayPush } from "../../../client/slipway-push.ts";
import { answerOf, api } from "../../api.ts";
import { Panel, reachable } from "../../components/page.tsx";
import { connectionReason } from "../../connection-reason.ts";
import { t } from "../../text/text.ts";
import { exactText, secondText } from "../../time-text.ts";
import { visible } from "../../visible.ts";

const kept = 200;

interface Entry {
  /** Counts up; the newest stands first. */
  key: number;
  at: number;
  text: string;
  isNote: boolean;
}

/** A connection of its own in this page, as an application would open it: what arrives is written down. */
export function TestConnection() {
  const push = useRef<SlipwayPush | null>(null);
  const [state, setState] = useState("closed");
  const [userId, setUserId] = useState("");
  const [channel, setChannel] = useState("");
  const [entries, setEntries] = useState<Entry[]>([]);
  useEffect(() => () => push.current?.close(), []);

  const write = (text: string, isNote: boolean) =>
    setEntries((before) =>
      [{ key: (before[0]?.key ?? 0) + 1, at: Date.now(), text, isNote }, ...before].slice(0, kept),
    );
  const connect = () => {
    const made = new SlipwayPush({
      url: `${location.origin}/ws`,
      channels: channel === "" ? [] : [channel],
      code: async () =>
        (await answerOf(api.push.codes.$post({ json: userId === "" ? {} : { userId } }))).code,
    });
    made.on("status", (status) => {
      setState(status.state);
      if (status.state === "waiting" || status.state === "closed") write(connectionReason(status), true);
    });
    made.on("open", (opened) =>
      write(t("push.connectedAs", { userId: opened.userId, connectionId: opened.connectionId }), true),
    );
    made.on("problem", (problem) => write(problemText(problem), true));
    made.on("message", (message) => write(textOf(message), false));
    push.current = made;
    made.open();
  };
  const isClosed = state === "closed";
  return (
    <Panel title={t("push.test")} about={t("push.testAbout")}>
      <Group gap="sm" align="flex-end" mb="sm">
        <TextInput
          label={t("push.asUser")}
          placeholder={t("push.yourself")}
          style={{ flex: "1 1 130px" }}
          disabled={!isClosed}
          value={userId}
          onChange={(event) => setUserId(event.currentTarget.value)}
        />
        <TextInput
          label={t("push.channel")}
          placeholder={t("words.none")}
          style={{ flex: "1 1 130px" }}
          disabled={!isClosed}
          value={channel}
          onChange={(event) => setChannel(event.currentTarget.value)}
        />
        {isClosed ? (
          <Button onClick={connect}>{t("push.connect")}</Button>
        ) : (
          <Button variant="default" onClick={() => push.current?.close()}>
            {t("push.disconnect")}
          </Button>
        )}
      </Group>
      <section className="stream" aria-label={t("push.arrived")} aria-live="polite" {...reachable}>
        {entries.length === 0 ? (
          <Text size="sm" c="dimmed">
            {t("push.nothingArrived")}
          </Text>
        ) : (
          entries.map((entry) => (
            <div key={entry.key} data-note={entry.isNote || undefined}>
              <time
                dateTime={new Date(entry.at).toISOString()}
                title={exactText(new Date(entry.at).toISOString())}
              >
                {secondText(entry.at)}
              </time>
              {visible(entry.text)}
            </div>
          ))
        )}
      </section>
    </Panel>
  );
}

const channelProblems = ["channel_invalid", "channel_not_allowed", "too_many_channels"] as const;

function problemText({ code, message }: PushProblem): string {
  const known = channelProblems.find((each) => each === code);
  return known === undefined ? message : t(`push.${known}`);
}

function textOf({ targetType, target, data }: PushMessage): string {
  return `${target === "" ? targetType : `${targetType} ${target}`}: ${data}`;
}
