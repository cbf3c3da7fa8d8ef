import { Tabs } from "@mantine/core";
import { useLocation } from "wouter";
import { PageHead } from "../../components/page.tsx";
import { usePushStats } from "../../push-stats.ts";
import { type PushTab, pushTabs } from "../../push-tabs.ts";
import { t } from "../../text/text.ts";
import { Channels } from "./channels.tsx";
import { ConnectCode, PublishCode } from "./code-examples.tsx";
import { Figures } from "./figures.tsx";
import { MakeCode } from "./make-code.tsx";
import { MessageTrace } from "./message-trace.tsx";
import { OnlineUsers } from "./online-users.tsx";
import { PublishForm } from "./publish-form.tsx";
import { TestConnection } from "./test-connection.tsx";
import { useTestConnection } from "./use-test-connection.ts";
import { Words } from "./words.tsx";

export default function PushPage({ tab }: { tab: PushTab }) {
  const [, go] = useLocation();
  const stats = usePushStats();
  const connection = useTestConnection();
  return (
    <>
      <PageHead title={t("push.title")} about={t("push.about")} />
      <Tabs
        value={tab}
        onChange={(chosen) => go(chosen === "overview" ? "/push" : `/push/${chosen}`)}
        keepMounted={false}
      >
        <Tabs.List mb="lg">
          {pushTabs.map((each) => (
            <Tabs.Tab key={each} value={each}>
              {t(`push.tab_${each}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="overview">
          <div className="stack">
            <Figures {...stats} />
            <div className="columns">
              <OnlineUsers />
              <Words />
            </div>
          </div>
        </Tabs.Panel>
        <Tabs.Panel value="connect">
          <div className="stack">
            <MakeCode />
            <ConnectCode />
          </div>
        </Tabs.Panel>
        <Tabs.Panel value="publish">
          <div className="stack">
            <div className="columns">
              <PublishForm />
              <TestConnection connection={connection} />
            </div>
            <PublishCode />
            <OnlineUsers />
          </div>
        </Tabs.Panel>
        <Tabs.Panel value="trace">
          <MessageTrace />
        </Tabs.Panel>
        <Tabs.Panel value="channels">
          <Channels channels={stats.query.data?.channels ?? []} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
