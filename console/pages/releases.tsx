import { Button, Group, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { ConfirmButton } from "../components/confirm.tsx";
import { Moment } from "../components/moment.tsx";
import { Empty, Panel } from "../components/page.tsx";
import { Loaded } from "../components/query.tsx";
import { Commit } from "../components/task-parts.tsx";
import { usePolling } from "../live.ts";
import { releasesQuery, useMoveProject, useRollback } from "../release-query.ts";
import type { Project, Release } from "../shapes.ts";
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
              <Empty title="No release yet">A task that deploys or starts makes one.</Empty>
            ) : (
              <Table aria-label="Releases" className="list-table">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>Commit</Table.Th>
                    <Table.Th>Task</Table.Th>
                    <Table.Th>Last deployed</Table.Th>
                    <Table.Th>Workspace</Table.Th>
                    <Table.Th />
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {items.map((release) => (
                    <Table.Tr key={release.taskId}>
                      <Table.Td>
                        <Commit task={release} />
                      </Table.Td>
                      <Table.Td>
                        <Link href={`/tasks/${release.taskId}`}>task {release.taskId}</Link>
                      </Table.Td>
                      <Table.Td>
                        <Moment at={release.deployedAt} />
                      </Table.Td>
                      <Table.Td>{workspaceText(release)}</Table.Td>
                      <Table.Td>
                        {release.isLive ? (
                          <b>live</b>
                        ) : (
                          mayManage && <RollbackButton project={project} release={release} />
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
  if (!isKept) return "removed: needs a build";
  return bytes === null ? "kept" : `kept, ${sizeText(bytes)}`;
}

function RollbackButton({ project, release }: { project: Project; release: Release }) {
  const rollback = useRollback(project.id);
  const commit = visible(shortCommit(release.commit));
  return (
    <Button
      size="xs"
      variant="default"
      loading={rollback.isPending}
      aria-label={`Roll back to ${commit}`}
      title={release.isKept ? "Without a build" : "With a build"}
      onClick={() => rollback.mutate(release.taskId)}
    >
      Roll back
    </Button>
  );
}

/** The runner that holds the releases, and the way to another one. */
function Home({ project }: { project: Project }) {
  const move = useMoveProject(project.id);
  return (
    <Group gap="sm">
      <Text size="sm">Its releases are on runner {project.homeRunnerId}, which gets its tasks.</Text>
      <ConfirmButton
        size="xs"
        label="Let any runner take it"
        title="Move the project?"
        confirm="Move it"
        onConfirm={() => move.mutateAsync(undefined)}
      >
        The next task runs on any runner that may take it, and builds there. What runner{" "}
        {project.homeRunnerId} has started is not stopped: end it there by hand.
      </ConfirmButton>
    </Group>
  );
}
