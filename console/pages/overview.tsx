import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { usePageNumber, useTurnPage } from "../address.ts";
import { OutcomeBars } from "../components/outcome-bars.tsx";
import { GatewayFigures } from "../components/overview/gateway-figures.tsx";
import { ProjectRows } from "../components/overview/project-rows.tsx";
import { RecentDeploys } from "../components/overview/recent-deploys.tsx";
import { PageHead, Panel } from "../components/page.tsx";
import { Pages, useExistingPage } from "../components/pages.tsx";
import { Loaded } from "../components/query.tsx";
import { TryIt } from "../components/try-it.tsx";
import { coversProjects, useLiveProjects, usePolling } from "../live.ts";
import { type OverviewData, overviewQuery } from "../overview-query.ts";
import { t } from "../text/text.ts";

/** Statistics and figures of the gateway change without a live event. */
const refreshMs = 60_000;

export function Overview() {
  const page = usePageNumber();
  const known = useQuery({ ...overviewQuery(page), enabled: false }).data;
  const polling = usePolling(coversProjects(known?.counts.projects ?? 0));
  // While there is no project, no channel reports the first one.
  const isEmpty = known?.counts.projects === 0;
  const query = useQuery({
    ...overviewQuery(page),
    refetchInterval: polling === false ? (isEmpty ? emptyMs : refreshMs) : polling,
  });
  const { data } = query;
  useLiveProjects((data?.projects.items ?? []).map(({ projectId }) => projectId));
  useExistingPage(data?.projects);
  if (isEmpty)
    return (
      <>
        <PageHead
          title={t("overview.welcome")}
          tab={t("overview.title")}
          about={t("overview.welcomeAbout")}
        />
        <TryIt isAdmin={data?.me.role === "admin"} />
      </>
    );
  return (
    <>
      <PageHead title={t("overview.title")} about={data === undefined ? "\u00a0" : aboutOf(data)} />
      <Loaded query={query}>{(overview) => <OverviewPanels overview={overview} />}</Loaded>
    </>
  );
}

const emptyMs = 4000;

function aboutOf({ counts: { projects, broken, active } }: OverviewData): string {
  return t("overview.about", {
    projects: t("overview.projectCount", { count: projects }),
    broken: t("overview.brokenCount", { count: broken }),
    active: t("overview.activeCount", { count: active }),
  });
}

function OverviewPanels({ overview }: { overview: OverviewData }) {
  const turnTo = useTurnPage();
  const { items, total, page, pageSize } = overview.projects;
  const { deliveries } = overview;
  return (
    <div className="overview">
      <div className="stack">
        <Panel isFlush>
          <ProjectRows rows={items} />
          {total > pageSize && <Pages total={total} page={page} pageSize={pageSize} onPage={turnTo} />}
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
