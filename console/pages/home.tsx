import { Button, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "wouter";
import { useAddressFilters, useTurnPage } from "../address.ts";
import { Needs } from "../components/home/needs.tsx";
import { ProjectRows } from "../components/home/project-rows.tsx";
import { Icon } from "../components/icon.tsx";
import { Empty, PageHead, Panel } from "../components/page.tsx";
import { Pages, useExistingPage } from "../components/pages.tsx";
import { Picker } from "../components/picker.tsx";
import { Loaded } from "../components/query.tsx";
import { TryIt } from "../components/try-it.tsx";
import { groupChoices } from "../group-query.ts";
import { type HomeData, homeQuery, homeViewIn } from "../home-query.ts";
import { coversProjects, useLiveProjects, usePolling } from "../live.ts";
import { t } from "../text/text.ts";

/** Runners and certificates change without a live event. */
const refreshMs = 60_000;
const emptyMs = 4000;

/** What needs the user, then the projects. */
export function Home() {
  const [search] = useSearchParams();
  const view = homeViewIn(search);
  const known = useQuery({ ...homeQuery(view), enabled: false }).data;
  const polling = usePolling(coversProjects(known?.projectCount ?? 0));
  // While there is no project, no channel reports the first one.
  const isEmpty = known?.projectCount === 0;
  const query = useQuery({
    ...homeQuery(view),
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
          title={t("home.welcome")}
          tab={t("home.title")}
          about={isAdmin ? t("home.welcomeAbout") : undefined}
        >
          {data?.mayAddProject && !isAdmin && <AddButton />}
        </PageHead>
        <TryIt isAdmin={isAdmin} />
      </>
    );
  return (
    <>
      <PageHead title={t("home.title")}>{data?.mayAddProject && <AddButton />}</PageHead>
      <Loaded query={query}>
        {(home) => (
          <div className="stack">
            <Needs needs={home.needs} isAdmin={home.me.role === "admin"} />
            <Projects home={home} />
          </div>
        )}
      </Loaded>
    </>
  );
}

function AddButton() {
  return (
    <Button component={Link} href="/projects/new" leftSection={<Icon name="plus" size={16} />}>
      {t("project.add")}
    </Button>
  );
}

function Projects({ home: { projects, groups } }: { home: HomeData }) {
  const turnTo = useTurnPage();
  const [{ search, groupId }, change] = useAddressFilters(["search", "groupId"]);
  const { items, total, page, pageSize } = projects;
  return (
    <Panel
      title={t("home.projects")}
      isFlush
      action={
        <div className="project-filters">
          <TextInput
            size="xs"
            type="search"
            aria-label={t("home.nameFilter")}
            placeholder={t("home.nameFilter")}
            maxLength={100}
            value={search}
            onChange={(event) => change({ search: event.currentTarget.value })}
          />
          {groups.length > 0 && (
            <Picker
              size="xs"
              aria-label={t("home.group")}
              placeholder={t("home.anyGroup")}
              clearable
              choices={groupChoices(groups)}
              value={groupId}
              onChange={(chosen) => change({ groupId: chosen })}
            />
          )}
        </div>
      }
    >
      {total === 0 ? (
        <Empty
          title={t("home.noMatch")}
          action={
            <Button size="compact-sm" variant="subtle" onClick={() => change({ search: "", groupId: "" })}>
              {t("home.clear")}
            </Button>
          }
        />
      ) : (
        <ProjectRows rows={items} groups={groups} />
      )}
      {total > pageSize && <Pages total={total} page={page} pageSize={pageSize} onPage={turnTo} />}
    </Panel>
  );
}
