import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { environmentsQuery } from "../environment-query.ts";
import { usePolling } from "../live.ts";
import { projectQuery } from "../project-query.ts";
import type { ProjectTab } from "../project-tabs.ts";
import { t } from "../text/text.ts";
import { Promote, promotionsOf } from "./environments.tsx";

/** On the page of an environment: the way to the others, and the promotions to it and from it. */
export function EnvironmentSwitch({
  projectId,
  environmentId,
  tab,
}: {
  projectId: number;
  environmentId: number;
  tab: ProjectTab;
}) {
  const refetchInterval = usePolling();
  const { data } = useQuery({ ...environmentsQuery(projectId), refetchInterval });
  const { data: project } = useQuery(projectQuery(projectId));
  const items = data?.items ?? [];
  const own = items.find((each) => each.projectId === environmentId)?.name;
  const part = tab === "overview" ? "" : `/${tab}`;
  return (
    <div className="environment-switch">
      <nav className="page-parts" aria-label={t("environments.title")}>
        {items.map((each) => (
          <Link
            key={each.projectId}
            href={`/projects/${each.projectId}${part}`}
            {...(each.name === own ? { "aria-current": "page" as const } : {})}
          >
            {each.name}
          </Link>
        ))}
      </nav>
      {project?.permission === "manage" &&
        promotionsOf(items)
          .filter(({ from, to }) => from === own || to === own)
          .map((places) => <Promote key={places.to} project={project} {...places} isNamed />)}
    </div>
  );
}
