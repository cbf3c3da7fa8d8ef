import { Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { releaseSettingsQuery } from "../release-query.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";
import { Loaded } from "./query.tsx";

/** In the question before a rollback: what returns with the release besides its commit. */
export function ReturningSettings({ projectId, taskId }: { projectId: number; taskId: number }) {
  const query = useQuery(releaseSettingsQuery(projectId, taskId));
  return (
    <Loaded query={query}>
      {({ items }) =>
        items.length === 0 ? (
          <p>{t("release.settingsSame")}</p>
        ) : (
          <>
            <p>
              <b>{t("release.settingsReturn")}</b> {t("release.settingsKeep")}
            </p>
            <SettingsTable items={items} />
          </>
        )
      }
    </Loaded>
  );
}

/** On the page of a rollback: the settings that it used, where the project has others today. */
export function UsedSettings({ projectId, taskId }: { projectId: number; taskId: number }) {
  const { data } = useQuery(releaseSettingsQuery(projectId, taskId));
  if (!data || data.items.length === 0) return null;
  return (
    <section>
      <p>{t("release.settingsUsed", { id: String(taskId) })}</p>
      <SettingsTable items={data.items} />
    </section>
  );
}

type Item = { setting: string; release: string | null; project: string | null };

function SettingsTable({ items }: { items: Item[] }) {
  return (
    <Table aria-label={t("release.settings")}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("release.setting")}</Table.Th>
          <Table.Th>{t("release.settingThen")}</Table.Th>
          <Table.Th>{t("release.settingNow")}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {items.map(({ setting, release, project }) => (
          <Table.Tr key={setting}>
            <Table.Th scope="row" className="foreign">
              {settingLabel(setting)}
            </Table.Th>
            <Table.Td>
              <Value text={release} />
            </Table.Td>
            <Table.Td>
              <Value text={project} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

export function Value({ text }: { text: string | null }) {
  if (text === null) return <span className="dim">{t("release.settingNone")}</span>;
  return <code className="setting-value">{visible(text)}</code>;
}

/** The label that the setting has in the form of the project. */
export function settingLabel(setting: string): string {
  const [area = "", stage = "", field = ""] = setting.split(".");
  if (area === "env") return visible(setting.slice("env.".length));
  const labels: Record<string, string> = {
    script: t("stages.scriptOf", { stage }),
    directory: t("stages.folderOf", { stage }),
    timeout: t("stages.timeLimitOf", { stage }),
    image: t("execution.imageOf", { stage }),
    network: t("release.networkOf", { stage }),
    check: t("stages.checkOf", { stage }),
    switch: t("stages.switch"),
  };
  return labels[field] ?? setting;
}
