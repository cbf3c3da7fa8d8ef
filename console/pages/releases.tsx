import { Group, Table, Text, VisuallyHidden } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "wouter";
import { Moment } from "../components/moment.tsx";
import { MoveButton } from "../components/move-button.tsx";
import { Empty, Panel } from "../components/page.tsx";
import { Loaded } from "../components/query.tsx";
import { ReturnButton } from "../components/return-button.tsx";
import { Mark } from "../components/task-marks.tsx";
import { Commit } from "../components/task-parts.tsx";
import { usePolling } from "../live.ts";
import { releasesQuery } from "../release-query.ts";
import { servingOf } from "../serving.ts";
import type { Project, Release, ReleaseList } from "../shapes.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { sizeText } from "../time-text.ts";
import { visible } from "../visible.ts";

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
                    <Table.Th>{t("project.workspace")}</Table.Th>
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
                        <div className="one-line">
                          <Commit task={release} />
                          {release.isLive && <LiveMark project={project} release={release} />}
                        </div>
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
                      <Table.Td>
                        {workspaceText(release)}
                        {release.digest !== null && <Digest digest={release.digest} />}
                      </Table.Td>
                      {/* Clicks in its dialog are not clicks on the row. */}
                      <Table.Td onClick={(event) => event.stopPropagation()}>
                        {!release.isLive && mayManage && (
                          <ReturnButton size="compact-sm" project={project} release={release} />
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
      {project.homeRunnerId !== null && mayManage && query.data && (
        <Home project={project} list={query.data} />
      )}
    </div>
  );
}

/** What its files were sealed with: the same in each environment that serves them. */
function Digest({ digest }: { digest: string }) {
  const name = t("project.digest", { digest });
  return (
    <div className="dim small mono" title={name}>
      <span aria-hidden>{t("project.digestShort", { digest: digest.slice(0, 12) })}</span>
      <VisuallyHidden>{name}</VisuallyHidden>
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
function Home({ project, list }: { project: Project; list: ReleaseList }) {
  const { homeRunner, moveTargets, data } = list;
  const runner = homeRunner === null ? t("project.deletedRunner") : visible(homeRunner.name);
  return (
    <Group gap="sm">
      <Text size="sm">{t("project.homeRunner", { runner })}</Text>
      <MoveButton projectId={project.id} runner={runner} targets={moveTargets} data={data} />
    </Group>
  );
}

/** "Serving", and green, only where something shows it. */
function LiveMark({ project, release }: { project: Project; release: Release }) {
  const isProven = servingOf(project, release) === "serving";
  return (
    <Mark
      kind={isProven ? "serving" : "action"}
      text={t(isProven ? "project.live" : "project.deployedLast")}
    />
  );
}
