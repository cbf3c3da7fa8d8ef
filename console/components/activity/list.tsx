import { Button, Checkbox, SegmentedControl } from "@mantine/core";
import {
  type InfiniteData,
  type UseInfiniteQueryResult,
  useInfiniteQuery,
  useQuery,
} from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import {
  type ActivityFilters,
  activityFilterNames,
  activityWords,
  kinds,
  shownKind,
} from "../../activity-filters.ts";
import { activityQuery } from "../../activity-query.ts";
import { useAddressFilters } from "../../address.ts";
import { usePolling, whileWaiting } from "../../live.ts";
import { meQuery } from "../../session.ts";
import type { ActivityRow } from "../../shapes.ts";
import { t } from "../../text/text.ts";
import { FilterBar } from "../filter-bar.tsx";
import { Empty, Panel } from "../page.tsx";
import { Loaded } from "../query.tsx";
import { Fields } from "./fields.tsx";
import { keyOf, Row } from "./row.tsx";
import { useRowKeys } from "./row-keys.ts";
import { SelectionBar } from "./selection-bar.tsx";

/** Deliveries and tasks as one list: of one project, or of all that one may view. */
export function ActivityList({
  projectId,
  hasEnvironments = false,
  isCovered = true,
  onFilter,
}: {
  projectId?: number;
  /** Its rows say which one they are of. */
  hasEnvironments?: boolean;
  /** Whether the live connection reports all of it. */
  isCovered?: boolean;
  onFilter?: (filters: ActivityFilters) => void;
}) {
  const [address, changeAddress] = useAddressFilters(activityFilterNames);
  const change = (values: Partial<ActivityFilters>) => {
    changeAddress(values);
    onFilter?.({ ...address, ...values });
  };
  const hasProject = projectId === undefined;
  const filters = hasProject ? address : { ...address, projectId: String(projectId) };
  const polling = usePolling(isCovered);
  const query = useInfiniteQuery({
    ...activityQuery(filters),
    refetchInterval: ({ state: { data } }) => whileWaiting(tasksOf(data?.pages), polling),
  });
  const rows = query.data?.pages.flatMap(({ items }) => items) ?? [];
  return (
    <>
      <SegmentedControl
        mb="sm"
        aria-label={t("activity.show")}
        data={kinds.map((kind) => ({ value: kind, label: t(`activity.show_${kind}`) }))}
        value={shownKind(address)}
        onChange={(kind) => change({ show: kind === "changes" ? "" : kind, outcome: "" })}
      />
      <FilterBar
        example={hasProject ? "status:failed project:shop main" : "status:failed main"}
        words={activityWords.filter(({ parameter }) => hasProject || parameter !== "projectId")}
        filters={{ ...address, show: "" }}
        // The tab stays, unless another one is typed.
        change={(values) => change({ ...values, show: values.show || address.show })}
        choices={{ author: authorsOf(rows) }}
        fields={
          <Fields filters={address} change={change} hasProject={hasProject} authors={authorsOf(rows)} />
        }
      />
      <Panel isFlush>
        <Loaded query={query}>
          {() =>
            rows.length === 0 ? (
              <Nothing filters={address} projectId={projectId} change={change} />
            ) : (
              <Rows rows={rows} hasProject={hasProject || hasEnvironments} />
            )
          }
        </Loaded>
        {query.hasNextPage && <Older key={JSON.stringify(filters)} query={query} />}
      </Panel>
    </>
  );
}

/** What arrives meanwhile fetches the list again, which ends the fetch of a further page: it is asked for once more. */
function Older({ query }: { query: UseInfiniteQueryResult<InfiniteData<unknown>> }) {
  const { data, fetchNextPage, isError, isFetching } = query;
  const count = data?.pages.length ?? 0;
  const [wanted, setWanted] = useState(0);
  const isMissing = count < wanted && !isError;
  useEffect(() => {
    if (isMissing && !isFetching) void fetchNextPage();
  }, [isMissing, isFetching, fetchNextPage]);
  return (
    <div className="list-foot">
      <Button
        variant="default"
        loading={isMissing}
        onClick={() => {
          setWanted(count + 1);
          if (isError) void fetchNextPage();
        }}
      >
        {t("activity.older")}
      </Button>
    </div>
  );
}

type Pages = { items: ActivityRow[] }[] | undefined;

function tasksOf(pages: Pages) {
  return (pages ?? []).flatMap(({ items }) => items.flatMap(({ task }) => task ?? []));
}

function authorsOf(rows: ActivityRow[]): string[] {
  return [...new Set(rows.map(({ delivery, task }) => delivery?.author ?? task?.author ?? ""))];
}

function Rows({ rows, hasProject }: { rows: ActivityRow[]; hasProject: boolean }) {
  const { data: me } = useQuery(meQuery);
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set());
  const list = useRef<HTMLOListElement>(null);
  useRowKeys(list);
  const selected = rows.filter((row) => keys.has(keyOf(row)));
  const toggle = (key: string) => {
    const changed = new Set(keys);
    if (!changed.delete(key)) changed.add(key);
    setKeys(changed);
  };
  const isAll = selected.length === rows.length;
  return (
    <>
      <div className="activity-head">
        <Checkbox
          size="xs"
          label={t("activity.selectAll")}
          checked={isAll}
          indeterminate={selected.length > 0 && !isAll}
          onChange={() => setKeys(new Set(isAll ? [] : rows.map(keyOf)))}
        />
      </div>
      <ol ref={list} className="activity" aria-label={t("activity.title")}>
        {rows.map((row) => (
          <Row
            key={keyOf(row)}
            row={row}
            hasProject={hasProject}
            isSelected={keys.has(keyOf(row))}
            onSelect={() => toggle(keyOf(row))}
          />
        ))}
      </ol>
      {selected.length > 0 && (
        <SelectionBar rows={selected} isAdmin={me?.role === "admin"} onDone={() => setKeys(new Set())} />
      )}
    </>
  );
}

function Nothing({
  filters,
  projectId,
  change,
}: {
  filters: ActivityFilters;
  projectId: number | undefined;
  change: (values: Partial<ActivityFilters>) => void;
}) {
  const isFiltered = activityFilterNames.some((name) => name !== "show" && filters[name] !== "");
  if (isFiltered) return <Empty title={t("activity.noMatch")}>{t("activity.noMatchHint")}</Empty>;
  if (shownKind(filters) === "stopped") return <Empty title={t("activity.noneStopped")} />;
  return (
    <Empty
      title={t("activity.none")}
      action={
        <>
          <Button variant="default" onClick={() => change({ show: "stopped" })}>
            {t("activity.showStopped")}
          </Button>
          {projectId !== undefined && (
            <Link href={`/projects/${projectId}/webhook`}>{t("activity.toWebhook")}</Link>
          )}
        </>
      }
    >
      {t("activity.noneHint")}
    </Empty>
  );
}
