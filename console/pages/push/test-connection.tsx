import { Button, Group, Text, TextInput } from "@mantine/core";
import { Panel, reachable } from "../../components/page.tsx";
import { t } from "../../text/text.ts";
import { exactText, secondText } from "../../time-text.ts";
import { visible } from "../../visible.ts";
import type { TestedConnection } from "./use-test-connection.ts";

/** The test connection: who connects, and what arrives. */
export function TestConnection({ connection }: { connection: TestedConnection }) {
  const { isClosed, userId, setUserId, channel, setChannel, entries, connect, disconnect } = connection;
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
          <Button variant="default" onClick={disconnect}>
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
