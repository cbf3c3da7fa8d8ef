import { Table } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { releaseSettingsQuery } from "../release-query.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { visible } from "../visible.ts";
import { Moment } from "./moment.tsx";
import { Loaded } from "./query.tsx";
import { Commit } from "./task-parts.tsx";

/** In the question before a rollback: which release returns, with what, and what it takes back. */
export function Returning({ projectId, taskId }: { projectId: number; taskId: number }) {
  const query = useQuery(releaseSettingsQuery(projectId, taskId));
  return (
    <Loaded query={query}>
      {({ release, compare, takenBack, items }) => (
        <>
          {release !== null && (
            <div className="returning">
              <Commit task={release} />
              <span className="dim small">
                {rich("release.deployed", { when: <Moment at={release.deployedAt} /> })}
              </span>
            </div>
          )}
          {takenBack.length > 0 && (
            <section aria-labelledby="taken-back">
              <p id="taken-back">{t("release.goesAway")}</p>
              <ul className="plain-list">
                {takenBack.map((task) => (
                  <li key={task.taskId}>
                    <Commit task={task} />
                  </li>
                ))}
              </ul>
            </section>
          )}
          {compare !== null && (
            <p>
              <a href={compare} target="_blank" rel="noreferrer" className="outside">
                {t("release.takesBack")}
              </a>
            </p>
          )}
          {items.length === 0 ? (
            <p>{t("release.settingsSame")}</p>
          ) : (
            <>
              <p>
                <b>{t("release.settingsReturn")}</b> {t("release.settingsKeep")}
              </p>
              <SettingsTable items={items} />
            </>
          )}
        </>
      )}
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

/** On a phone each value has a line of its own. `titles`: of the two columns of values. */
export function SettingsTable({
  items,
  label = t("release.settings"),
  titles = [t("release.settingThen"), t("release.settingNow")],
}: {
  items: Item[];
  label?: string;
  titles?: [string, string];
}) {
  return (
    <Table aria-label={label} className="setting-table">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("release.setting")}</Table.Th>
          <Table.Th>{titles[0]}</Table.Th>
          <Table.Th>{titles[1]}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {items.map(({ setting, release, project }) => (
          <Table.Tr key={setting}>
            <Table.Th scope="row" className="foreign">
              {settingLabel(setting)}
            </Table.Th>
            <Table.Td data-label={titles[0]}>
              <Value text={release} />
            </Table.Td>
            <Table.Td data-label={titles[1]}>
              <Value text={project} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function Value({ text }: { text: string | null }) {
  if (text === null) return <span className="dim">{t("release.settingNone")}</span>;
  return <code className="setting-value">{visible(text)}</code>;
}

/** The label that the setting has in the form of the project. */
function settingLabel(setting: string): string {
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
