import { Tabs } from "@mantine/core";
import { useLocation } from "wouter";
import { PageHead } from "../../components/page.tsx";
import { usePushStats } from "../../push-stats.ts";
import { type PushTab, pushHref, pushTabs } from "../../push-tabs.ts";
import { t } from "../../text/text.ts";
import { Channels } from "./channels.tsx";
import { CodeExamples } from "./code-examples.tsx";
import { Figures } from "./figures.tsx";
import { FindUser } from "./find-user.tsx";
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
      <PageHead title={t("push.title")} tab={t(`push.tab_${tab}`)} about={t("push.about")} />
      <Tabs
        value={tab}
        onChange={(chosen) => go(pushHref(pushTabs.find((each) => each === chosen) ?? "monitor"))}
        keepMounted={false}
      >
        <Tabs.List mb="lg">
          {pushTabs.map((each) => (
            <Tabs.Tab key={each} value={each}>
              {t(`push.tab_${each}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="monitor">
          <div className="stack">
            <Figures {...stats} />
            <div className="columns">
              <OnlineUsers />
              <Words />
            </div>
          </div>
        </Tabs.Panel>
        <Tabs.Panel value="find">
          <FindUser />
        </Tabs.Panel>
        <Tabs.Panel value="channels">
          <Channels channels={stats.query.data?.channels ?? []} />
        </Tabs.Panel>
        <Tabs.Panel value="playground">
          <div className="stack">
            <div className="columns">
              <PublishForm />
              <TestConnection connection={connection} />
            </div>
            <CodeExamples />
          </div>
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
