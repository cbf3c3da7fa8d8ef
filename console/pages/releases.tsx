import { Group, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { ReturningSettings } from "../components/changed-settings.tsx";
import { ConfirmButton } from "../components/confirm.tsx";
import { Moment } from "../components/moment.tsx";
import { Empty, Panel } from "../components/page.tsx";
import { Loaded } from "../components/query.tsx";
import { Commit } from "../components/task-parts.tsx";
import { usePolling } from "../live.ts";
import { releasesQuery, useMoveProject, useRollback } from "../release-query.ts";
import type { Project, Release } from "../shapes.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { shortCommit, sizeText } from "../time-text.ts";
import { visible } from "../visible.ts";

/** What has served, with one click back to each. */
export function Releases({ project }: { project: Project }) {
  const refetchInterval = usePolling();
  const query = useQuery({ ...releasesQuery(project.id), refetchInterval });
  const mayManage = project.permission === "manage";
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
                    <Table.Th>{t("project.workspace")}</Table.Th>
                    <Table.Th>{t("words.actions")}</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {items.map((release) => (
                    <Table.Tr key={release.taskId}>
                      <Table.Td>
                        <Commit task={release} />
                      </Table.Td>
                      <Table.Td>
                        <Link href={`/tasks/${release.taskId}`}>
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
                      <Table.Td>{workspaceText(release)}</Table.Td>
                      <Table.Td>
                        {release.isLive ? (
                          <b>{t("project.live")}</b>
                        ) : (
                          mayManage && <ReturnButton project={project} release={release} />
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

/** Where nothing serves there is nothing to roll back from: the release is deployed again. */
function ReturnButton({ project, release }: { project: Project; release: Release }) {
  const rollback = useRollback(project.id);
  const commit = visible(shortCommit(release.commit));
  const isServing = project.liveTaskId !== null;
  return (
    <ConfirmButton
      size="xs"
      label={t(isServing ? "project.rollback" : "project.deployAgain")}
      aria-label={t(isServing ? "project.rollbackTo" : "project.deployAgainOf", { commit })}
      title={t(isServing ? "project.rollbackTitle" : "project.deployAgainTitle", { commit })}
      isWide
      confirm={t(isServing ? "project.rollbackSubmit" : "project.deployAgainSubmit")}
      onConfirm={() => rollback.mutateAsync(release.taskId)}
    >
      <p>{t(release.isKept ? "project.rollbackKept" : "project.rollbackBuild")}</p>
      <ReturningSettings projectId={project.id} taskId={release.taskId} />
    </ConfirmButton>
  );
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
