import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { Link } from "wouter";
import { activityFilterNames } from "../activity-filters.ts";
import { activityQuery } from "../activity-query.ts";
import { usePolling, whileWaiting } from "../live.ts";
import type { ActivityRow, Project } from "../shapes.ts";
import { t } from "../text/text.ts";
import { keyOf, Row } from "./activity/row.tsx";
import { Empty, Panel } from "./page.tsx";
import { Loaded } from "./query.tsx";

const shown = 5;
/** How far changes of one environment are looked for among those of its project. */
const maxPages = 5;
const noFilters = Object.fromEntries(activityFilterNames.map((name) => [name, ""])) as Record<
  (typeof activityFilterNames)[number],
  string
>;

/** The newest changes of a project, or of one environment of it; the others are under its activity. */
export function LastChanges({ project }: { project: Project }) {
  const { id, parentId, environment } = project;
  const projectId = parentId ?? id;
  const hasEnvironments = project.environments.length > 0 || parentId !== null;
  const isOwn = ({ delivery, task }: ActivityRow) =>
    environment === null ||
    (task === null ? delivery?.environment === environment.name : task.projectId === id);
  const polling = usePolling();
  const query = useInfiniteQuery({
    ...activityQuery({ ...noFilters, projectId: String(projectId) }),
    refetchInterval: ({ state: { data } }) =>
      whileWaiting(
        data?.pages.flatMap(({ items }) => items.flatMap(({ task }) => task ?? [])) ?? [],
        polling,
      ),
  });
  const own = query.data?.pages.flatMap(({ items }) => items).filter(isOwn) ?? [];
  const { hasNextPage, isFetching, fetchNextPage, data } = query;
  const isShort = own.length < shown && environment !== null && (data?.pages.length ?? 0) < maxPages;
  useEffect(() => {
    if (isShort && hasNextPage && !isFetching) void fetchNextPage();
  }, [isShort, hasNextPage, isFetching, fetchNextPage]);
  return (
    <Panel
      title={t("project.lastChanges")}
      action={<Link href={`/projects/${projectId}/activity`}>{t("project.allActivity")}</Link>}
      isFlush
    >
      <Loaded query={query}>
        {() => {
          const rows = own.slice(0, shown);
          if (rows.length === 0) return <Empty title={t("activity.none")}>{t("activity.noneHint")}</Empty>;
          return (
            <ol className="activity" aria-label={t("project.lastChanges")}>
              {rows.map((row) => (
                <Row key={keyOf(row)} row={row} hasProject={hasEnvironments} />
              ))}
            </ol>
          );
        }}
      </Loaded>
    </Panel>
  );
}
