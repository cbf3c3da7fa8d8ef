import { Group, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "wouter";
import { ConfirmButton } from "../components/confirm.tsx";
import { Moment } from "../components/moment.tsx";
import { Empty, Panel } from "../components/page.tsx";
import { Loaded } from "../components/query.tsx";
import { ReturnButton } from "../components/return-button.tsx";
import { Mark } from "../components/task-marks.tsx";
import { Commit } from "../components/task-parts.tsx";
import { usePolling } from "../live.ts";
import { releasesQuery, useMoveProject } from "../release-query.ts";
import type { Project, Release } from "../shapes.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { sizeText } from "../time-text.ts";

/** What has served, with one click back to each. */
export function Releases({ project }: { project: Project }) {
  const refetchInterval = usePolling();
  const query = useQuery({ ...releasesQuery(project.id), refetchInterval });
  const mayManage = project.permission === "manage";
  const [, go] = useLocation();
  return (
    <div className="stack">
      <Panel isFlush>
        <Loaded query={query}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title={t("project.noRelease")}>{t("project.noReleaseHint")}</Empty>
            ) : (
              <Table aria-label={t("project.releases")} className="list-table">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>{t("project.commit")}</Table.Th>
                    <Table.Th>{t("project.task")}</Table.Th>
                    <Table.Th>{t("project.lastDeployed")}</Table.Th>
                    <Table.Th className="spare-cell">{t("project.workspace")}</Table.Th>
                    <Table.Th>{t("words.actions")}</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {items.map((release) => (
                    <Table.Tr
                      key={release.taskId}
                      className="row-link"
                      onClick={() => go(`/tasks/${release.taskId}`)}
                    >
                      <Table.Td data-whole>
                        <Commit task={release} />
                        {release.isLive && <Mark kind="serving" text={t("project.live")} />}
                      </Table.Td>
                      <Table.Td>
                        <Link
                          href={`/tasks/${release.taskId}`}
                          className="nowrap"
                          onClick={(event) => event.stopPropagation()}
                        >
                          {t("project.taskLink", { id: String(release.taskId) })}
                        </Link>
                      </Table.Td>
                      <Table.Td>
                        <Moment at={release.deployedAt} />
                        {release.endedAt !== null && (
                          <div className="waiting">
                            {rich("project.releaseEnded", { when: <Moment at={release.endedAt} /> })}
                          </div>
                        )}
                      </Table.Td>
                      <Table.Td className="spare-cell">{workspaceText(release)}</Table.Td>
                      {/* Clicks in its dialog are not clicks on the row. */}
                      <Table.Td onClick={(event) => event.stopPropagation()}>
                        {!release.isLive && mayManage && (
                          <ReturnButton size="xs" project={project} release={release} />
                        )}
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            )
          }
        </Loaded>
      </Panel>
      {project.homeRunnerId !== null && mayManage && <Home project={project} />}
    </div>
  );
}

function workspaceText({ isKept, bytes }: Release): string {
  if (!isKept) return t("project.workspaceRemoved");
  return bytes === null
    ? t("project.workspaceKept")
    : t("project.workspaceKeptSize", { size: sizeText(bytes) });
}

/** The runner that holds the releases, and the way to another one. */
function Home({ project }: { project: Project }) {
  const move = useMoveProject(project.id);
  const runner = String(project.homeRunnerId);
  return (
    <Group gap="sm">
      <Text size="sm">{t("project.homeRunner", { runner })}</Text>
      <ConfirmButton
        size="xs"
        label={t("project.move")}
        title={t("project.moveTitle")}
        confirm={t("project.moveSubmit")}
        onConfirm={() => move.mutateAsync(undefined)}
      >
        {t("project.moveAbout", { runner })}
      </ConfirmButton>
    </Group>
  );
}
