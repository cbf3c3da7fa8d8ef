import { queryOptions, useQuery } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import type { ReactNode } from "react";
import { answerOf, api } from "../../api.ts";
import { ItemTable } from "../../components/list.tsx";
import { Notice } from "../../components/notice.tsx";
import { PageHead, Panel } from "../../components/page.tsx";
import { Loaded } from "../../components/query.tsx";
import { reasonIn } from "../../text/reason-text.ts";
import { t } from "../../text/text.ts";
import { sizeText } from "../../time-text.ts";
import { visible } from "../../visible.ts";
import { Backup } from "./backup.tsx";
import { DefaultNotifications } from "./default-notifications.tsx";
import { Licences } from "./licences.tsx";

type SystemState = InferResponseType<typeof api.system.$get, 200>;

const refreshMs = 15_000;

const systemQuery = queryOptions({
  queryKey: ["system"],
  queryFn: () => answerOf(api.system.$get()),
  refetchInterval: refreshMs,
});

/** The installation, for admins: what needs attention first. */
export default function System() {
  const query = useQuery(systemQuery);
  return (
    <>
      <PageHead title={t("system.title")} about={t("system.about")} />
      <Loaded query={query}>
        {(system) => (
          <div className="stack">
            <Attention system={system} />
            <Panel>
              <Facts system={system} />
            </Panel>
            <Backup />
            <DefaultNotifications />
            <Settings system={system} />
            <Licences />
          </div>
        )}
      </Loaded>
    </>
  );
}

/** Share of free space below which the disk needs attention. */
const scarce = 0.1;

function Attention({
  system: { address, disk, runners, broker, warnings, warningParts },
}: {
  system: SystemState;
}) {
  const points = [
    ...(address === "" ? [t("system.attentionAddress")] : []),
    ...(disk.freeBytes < scarce * disk.totalBytes ? [t("system.attentionDisk")] : []),
    ...(runners.connected === 0 ? [t("system.attentionRunners")] : []),
    ...(broker?.ready === false ? [t("system.attentionBroker", broker)] : []),
  ];
  if (points.length + warnings.length === 0) return null;
  return (
    <Notice tone="needed" title={t("system.attention")}>
      {points.map((point) => (
        <div key={point}>{visible(point)}</div>
      ))}
      {warnings.map((warning, index) => (
        <div key={warning}>{reasonIn(warning, warningParts[index])}</div>
      ))}
    </Notice>
  );
}

function Facts({ system }: { system: SystemState }) {
  const { version, address, database, disk, queue, runners, broker } = system;
  const facts: [string, ReactNode][] = [
    [t("system.version"), <code key="version">{version}</code>],
    [t("system.address"), address === "" ? t("system.addressUnset") : visible(address)],
    [t("system.database"), visible(database)],
    [
      t("system.disk"),
      visible(
        t("system.diskFree", {
          free: sizeText(disk.freeBytes),
          total: sizeText(disk.totalBytes),
          folder: disk.folder,
        }),
      ),
    ],
    [t("system.queue"), t("system.queueText", queue)],
    [t("system.runners"), t("system.runnersText", runners)],
    [t("system.broker"), brokerText(broker)],
  ];
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function brokerText(broker: SystemState["broker"]): string {
  if (broker === null) return t("system.noBroker");
  return broker.ready ? t("system.brokerReady", broker) : visible(t("system.brokerAway", broker));
}

function sourceText(source: string | null): string {
  if (source === null) return t("system.sourceUnknown");
  return source === "default" ? t("system.sourceDefault") : visible(source);
}

function Settings({ system: { settings } }: { system: SystemState }) {
  return (
    <Panel title={t("system.settings")} about={t("system.settingsAbout")} isFlush>
      <ItemTable
        label={t("system.settings")}
        items={settings.map((each) => ({ ...each, id: each.key }))}
        columns={[
          { title: t("system.setting"), cell: ({ key }) => <code>{key}</code> },
          { title: t("system.source"), cell: ({ source }) => sourceText(source) },
          {
            title: t("system.value"),
            isWhole: true,
            cell: ({ value, used }) => (
              <>
                <code>{visible(used ?? value)}</code>
                {used !== null && <div className="waiting">{t("system.lowered", { value })}</div>}
              </>
            ),
          },
        ]}
      />
    </Panel>
  );
}
