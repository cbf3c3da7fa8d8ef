import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { Link, useSearchParams } from "wouter";
import { useAddressFilters, useTurnPage } from "../address.ts";
import { Icon } from "../components/icon.tsx";
import { OutcomeBars } from "../components/outcome-bars.tsx";
import { GatewayFigures } from "../components/overview/gateway-figures.tsx";
import { ProjectRows } from "../components/overview/project-rows.tsx";
import { RecentDeploys } from "../components/overview/recent-deploys.tsx";
import { Empty, PageHead, Panel } from "../components/page.tsx";
import { Pages, useExistingPage } from "../components/pages.tsx";
import { Loaded } from "../components/query.tsx";
import { TryIt } from "../components/try-it.tsx";
import { coversProjects, useLiveProjects, usePolling } from "../live.ts";
import { type OverviewData, overviewFilterNames, overviewQuery, overviewViewIn } from "../overview-query.ts";
import { t } from "../text/text.ts";

/** Statistics and figures of the gateway change without a live event. */
const refreshMs = 60_000;

export function Overview() {
  const [search] = useSearchParams();
  const view = overviewViewIn(search);
  const known = useQuery({ ...overviewQuery(view), enabled: false }).data;
  const polling = usePolling(coversProjects(known?.counts.projects ?? 0));
  // While there is no project, no channel reports the first one.
  const isEmpty = known?.counts.projects === 0;
  const query = useQuery({
    ...overviewQuery(view),
    refetchInterval: polling === false ? (isEmpty ? emptyMs : refreshMs) : polling,
  });
  const { data } = query;
  useLiveProjects((data?.projects.items ?? []).map(({ projectId }) => projectId));
  useExistingPage(data?.projects);
  const isAdmin = data?.me.role === "admin";
  if (isEmpty)
    return (
      <>
        <PageHead
          title={t("overview.welcome")}
          tab={t("overview.title")}
          about={isAdmin ? t("overview.welcomeAbout") : undefined}
        />
        <TryIt isAdmin={isAdmin} />
      </>
    );
  return (
    <>
      <PageHead title={t("overview.title")} about={data === undefined ? "\u00a0" : aboutOf(data)}>
        {data?.mayAddProject && (
          <Button component={Link} href="/projects/new" leftSection={<Icon name="plus" size={16} />}>
            {t("project.add")}
          </Button>
        )}
      </PageHead>
      <Loaded query={query}>{(overview) => <OverviewPanels overview={overview} />}</Loaded>
    </>
  );
}

const emptyMs = 4000;

const Filters = lazy(() => import("../components/overview/project-filters.tsx"));

function aboutOf({ counts: { projects, broken, active } }: OverviewData): string {
  return t("overview.about", {
    projects: t("overview.projectCount", { count: projects }),
    broken: t("overview.brokenCount", { count: broken }),
    active: t("overview.activeCount", { count: active }),
  });
}

function OverviewPanels({ overview }: { overview: OverviewData }) {
  const turnTo = useTurnPage();
  const [filters, change] = useAddressFilters(overviewFilterNames);
  const isFiltered = filters.groupId !== "" || filters.state !== "";
  const [isOpen, setOpen] = useState(isFiltered);
  const { items, total, folded, page, pageSize } = overview.projects;
  const { deliveries } = overview;
  return (
    <div className="overview">
      <div className="stack">
        <Panel isFlush>
          <div className="project-filters">
            <Button
              size="compact-sm"
              variant="default"
              aria-expanded={isOpen}
              onClick={() => setOpen(!isOpen)}
            >
              {t("overview.filter")}
            </Button>
            {isOpen && (
              <Suspense>
                <Filters filters={filters} change={change} />
              </Suspense>
            )}
          </div>
          {total === 0 ? <Empty title={t("overview.noMatch")} /> : <ProjectRows rows={items} />}
          {total > pageSize && <Pages total={total} page={page} pageSize={pageSize} onPage={turnTo} />}
          {folded > 0 && (
            <button type="button" className="folded" onClick={() => change({ state: "never_ran" })}>
              {t("overview.neverRan", { count: folded })} <span>{t("overview.showThem")}</span>
            </button>
          )}
        </Panel>
      </div>
      <div className="overview-side">
        <RecentDeploys deploys={overview.deploys} />
        <Panel
          title={t("overview.deliveries")}
          about={t("overview.deliveriesAbout")}
          action={<Link href="/deliveries">{t("overview.allDeliveries")}</Link>}
        >
          <OutcomeBars counts={deliveries.items} toMs={Date.parse(deliveries.to)} />
        </Panel>
        {overview.gateway !== null && <GatewayFigures gateway={overview.gateway} />}
      </div>
    </div>
  );
}
