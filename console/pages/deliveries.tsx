import { Drawer, Select, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { MouseEvent } from "react";
import { Link, useSearchParams } from "wouter";
import { idOf, useAddressFilters, usePageNumber } from "../address.ts";
import { useAllProjects } from "../all-projects.ts";
import { DeliveryDetail } from "../components/delivery-detail.tsx";
import { FilterBar } from "../components/filter-bar.tsx";
import { List } from "../components/list.tsx";
import { Moment } from "../components/moment.tsx";
import { NothingDelivered } from "../components/nothing-delivered.tsx";
import { Empty, PageHead } from "../components/page.tsx";
import { ProjectPicker } from "../components/project-picker.tsx";
import { ReplayMany } from "../components/replay-many.tsx";
import { StateLabel } from "../components/state.tsx";
import { Mark } from "../components/task-marks.tsx";
import {
  type DeliveryFilters,
  deliveryFilterNames,
  deliveryWords,
  statusChoices,
} from "../delivery-filters.ts";
import { deliveriesQuery } from "../delivery-query.ts";
import { useLastFilters } from "../last-filters.ts";
import { usePolling } from "../live.ts";
import { meQuery } from "../session.ts";
import type { DeliverySummary } from "../shapes.ts";
import { reasonIn } from "../text/reason-text.ts";
import { t } from "../text/text.ts";
import { shortCommit } from "../time-text.ts";
import { visible } from "../visible.ts";

/** Without it browsers let years of six digits be typed, which are no times to JavaScript. */
const lastTime = "9999-12-31T23:59";

export default function Deliveries() {
  const { isCovered } = useAllProjects();
  const { data: me } = useQuery(meQuery);
  const { isReady, keep } = useLastFilters("deliveries");
  // Only admins see what was sent to a key that nobody has: it belongs to no project, and so to no channel.
  return (
    <>
      <PageHead title={t("deliveries.title")} about={t("deliveries.about")} />
      {isReady && <DeliveryList isCovered={isCovered && me?.role !== "admin"} onFilter={keep} />}
    </>
  );
}

/** Deliveries of one project, or of all that one may view. */
export function DeliveryList({
  projectId,
  isCovered = true,
  onFilter,
}: {
  projectId?: number;
  /** Whether the live connection tells of every delivery. */
  isCovered?: boolean;
  onFilter?: (filters: DeliveryFilters) => void;
}) {
  const page = usePageNumber();
  const [address, changeAddress] = useAddressFilters(deliveryFilterNames);
  const change = (values: Partial<DeliveryFilters>) => {
    changeAddress(values);
    onFilter?.({ ...address, ...values });
  };
  const filters = projectId === undefined ? address : { ...address, projectId: String(projectId) };
  const refetchInterval = usePolling(isCovered);
  const query = useQuery({ ...deliveriesQuery(filters, page), refetchInterval });
  const { data: me } = useQuery(meQuery);
  const [search, setSearch] = useSearchParams();
  const opened = idOf(search.get("delivery") ?? "");
  const open = (id: number | null) =>
    setSearch((before) => {
      if (id === null) before.delete("delivery");
      else before.set("delivery", String(id));
      return before;
    });
  const hasProject = projectId === undefined;
  const isFiltered = Object.values(address).some((value) => value !== "");
  return (
    <>
      <FilterBar
        example={hasProject ? "outcome:ignored project:shop main" : "outcome:ignored main"}
        words={deliveryWords.filter(({ parameter }) => hasProject || parameter !== "projectId")}
        filters={address}
        change={change}
        fields={<Fields filters={address} change={change} hasProject={hasProject} />}
      >
        {me?.role === "admin" && <ReplayMany filters={filters} />}
      </FilterBar>
      <List
        label={t("deliveries.title")}
        query={query}
        onOpen={(delivery) => open(delivery.id)}
        empty={
          isFiltered ? (
            <Empty title={t("deliveries.noneFound")}>{t("deliveries.noneFoundHint")}</Empty>
          ) : (
            <NothingDelivered projectId={projectId} />
          )
        }
        columns={[
          {
            title: t("deliveries.outcome"),
            cell: (delivery) => (
              <Link
                href={`/deliveries/${delivery.id}`}
                className="task-link"
                onClick={(event) => stay(event, () => open(delivery.id))}
              >
                <StateLabel state={delivery.status} />
              </Link>
            ),
          },
          ...(projectId === undefined
            ? [
                {
                  title: t("words.project"),
                  cell: (delivery: DeliverySummary) => <ProjectName delivery={delivery} />,
                },
              ]
            : []),
          {
            title: t("deliveries.pushedReason"),
            cell: (delivery) => (
              <>
                <Pushed delivery={delivery} />
                {delivery.replay_of !== null && (
                  <Mark kind="replay" text={t("deliveries.replayMark", { id: String(delivery.replay_of) })} />
                )}
                <div className="reason foreign">{reasonIn(delivery.reason, delivery.reason_parts)}</div>
              </>
            ),
            isWhole: true,
          },
          { title: t("deliveries.when"), cell: (delivery) => <Moment at={delivery.created_at} /> },
          {
            title: t("deliveries.number"),
            cell: (delivery) => <Numbered delivery={delivery} />,
            visibleFrom: "lg",
          },
        ]}
      />
      <Drawer
        opened={opened !== null}
        onClose={() => open(null)}
        position="right"
        size="xl"
        title={<Text fw={620}>{t("deliveries.one", { id: String(opened) })}</Text>}
      >
        {opened !== null && <DeliveryDetail id={opened} />}
      </Drawer>
    </>
  );
}

/** A plain click opens it beside the list; with a modifier the link does what links do. */
function stay(event: MouseEvent, open: () => void): void {
  event.stopPropagation();
  if (event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  open();
}

function ProjectName({ delivery }: { delivery: DeliverySummary }) {
  if (delivery.project_id === 0) return <span className="dim">{t("deliveries.noProject")}</span>;
  return (
    <Link
      href={`/projects/${delivery.project_id}/deliveries`}
      className="foreign"
      onClick={(event) => event.stopPropagation()}
    >
      {visible(delivery.project_name)}
    </Link>
  );
}

function Pushed({ delivery }: { delivery: DeliverySummary }) {
  if (delivery.ref === "" && delivery.commit === "")
    return <span className="dim">{visible(delivery.event) || "–"}</span>;
  return (
    <div className="commit-line">
      <span className="cut commit-ref" title={visible(delivery.ref)}>
        {visible(delivery.ref)}
      </span>
      <span className="mono">{visible(shortCommit(delivery.commit))}</span>
      <Text span size="sm" c="dimmed" className="cut commit-message" title={visible(delivery.commit_message)}>
        {visible(delivery.commit_message)}
      </Text>
    </div>
  );
}

function Numbered({ delivery }: { delivery: DeliverySummary }) {
  return (
    <span className="figures">
      {delivery.id}
      {delivery.count > 1 && ` (×${delivery.count})`}
    </span>
  );
}

function Fields({
  filters,
  change,
  hasProject,
}: {
  filters: DeliveryFilters;
  change: (values: Partial<DeliveryFilters>) => void;
  hasProject: boolean;
}) {
  return (
    <>
      {hasProject && (
        <ProjectPicker value={filters.projectId} onChange={(projectId) => change({ projectId })} />
      )}
      <Select
        label={t("deliveries.outcome")}
        placeholder={t("words.any")}
        clearable
        data={statusChoices()}
        value={filters.status || null}
        onChange={(status) => change({ status: status ?? "" })}
      />
      <TextInput
        label={t("words.search")}
        className="wide"
        placeholder={t("deliveries.searchHint")}
        value={filters.search}
        onChange={(event) => change({ search: event.currentTarget.value })}
      />
      <TextInput
        label={t("deliveries.from")}
        className="wide"
        type="datetime-local"
        max={lastTime}
        value={filters.from}
        onChange={(event) => change({ from: event.currentTarget.value })}
      />
      <TextInput
        label={t("deliveries.to")}
        className="wide"
        type="datetime-local"
        max={lastTime}
        value={filters.to}
        onChange={(event) => change({ to: event.currentTarget.value })}
      />
    </>
  );
}
