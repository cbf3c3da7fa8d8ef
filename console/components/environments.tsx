import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import {
  type EnvironmentState,
  environmentsQuery,
  type PromotionPlaces,
  promotionQuery,
  usePromote,
} from "../environment-query.ts";
import { usePolling } from "../live.ts";
import type { Project } from "../shapes.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { shortCommit, shortRef } from "../time-text.ts";
import { visible } from "../visible.ts";
import { SettingsTable } from "./changed-settings.tsx";
import { ConfirmButton } from "./confirm.tsx";
import { Moment } from "./moment.tsx";
import { Panel } from "./page.tsx";
import { ForManagers } from "./permission.tsx";
import { Loaded } from "./query.tsx";
import { StateLabel } from "./state.tsx";
import { Commit } from "./task-parts.tsx";

/** What serves in each environment of a project, and how far each is behind the one before it. */
export function Environments({ project }: { project: Project }) {
  const refetchInterval = usePolling();
  const isAsked = project.environments.length > 0;
  const { data } = useQuery({ ...environmentsQuery(project.id), refetchInterval, enabled: isAsked });
  if (!data || data.items.length === 0) return null;
  const promotions = promotionsOf(data.items);
  return (
    <Panel title={t("environments.title")} isFlush>
      <ul className="environments" aria-label={t("environments.title")}>
        {data.items.map((environment) => (
          <Environment
            key={environment.projectId}
            project={project}
            environment={environment}
            promotion={promotions.find(({ to }) => to === environment.name)}
          />
        ))}
      </ul>
    </Panel>
  );
}

/** Where its releases come from: the environment that it names, or the one before it. */
function sourceOf(
  { from }: EnvironmentState,
  all: EnvironmentState[],
  index: number,
): EnvironmentState | undefined {
  return from === null ? all[index - 1] : all.find(({ name }) => name === from);
}

function Environment({
  project,
  environment,
  promotion,
}: {
  project: Project;
  environment: EnvironmentState;
  promotion: PromotionPlaces | undefined;
}) {
  const { name, projectId, release, services, behind, runner, publicUrl } = environment;
  return (
    <li className="environment">
      <span className="environment-name">
        <Link href={`/projects/${projectId}`} className="strong">
          {name}
        </Link>
        {services !== null && <StateLabel state={services.state} />}
      </span>
      <span className="environment-release">
        {release === null ? (
          <span className="dim">{t("environments.nothing")}</span>
        ) : (
          <>
            <Link href={`/tasks/${release.taskId}`} className="mono">
              {visible(shortCommit(release.commit))}
            </Link>{" "}
            <span className="cut" title={visible(release.message)}>
              {visible(release.message) || visible(shortRef(release.ref))}
            </span>{" "}
            <span className="dim small">
              <Moment at={release.deployedAt} />
              {runner !== null && ` · ${visible(runner.name)}`}
            </span>
          </>
        )}
        {behind !== null && (
          <span className="dim small">
            {rich("environments.behind", {
              releases: t("environments.releases", { count: behind.releases }),
              from: behind.from,
              since: <Moment at={behind.since} />,
              who: behind.authors.map(visible).join(", ") || t("words.unknown"),
            })}
          </span>
        )}
      </span>
      {publicUrl !== "" && (
        <a href={publicUrl} target="_blank" rel="noreferrer" className="outside">
          {t("service.visit")}
        </a>
      )}
      {promotion !== undefined && project.permission === "manage" && (
        <ForManagers>
          <Promote project={project} {...promotion} />
        </ForManagers>
      )}
    </li>
  );
}

/** What can be promoted now. */
export function promotionsOf(items: EnvironmentState[]): PromotionPlaces[] {
  return items.flatMap((environment, index) => {
    const { name, release } = environment;
    const source = sourceOf(environment, items, index);
    const isOther =
      source?.release != null && source.release.taskId !== (release?.promotedFrom ?? release?.taskId);
    return isOther ? [{ from: source.name, to: name }] : [];
  });
}

export function Promote({
  project,
  from,
  to,
  isNamed = false,
}: PromotionPlaces & {
  project: Project;
  /** Its label says where to. */
  isNamed?: boolean;
}) {
  const promote = usePromote(project.id);
  return (
    <ConfirmButton
      size="compact-sm"
      variant="default"
      label={isNamed ? t("environments.promoteTo", { to }) : t("environments.promote")}
      aria-label={t("environments.promoteTo", { to })}
      title={t("environments.promoteTitle", { from, to })}
      isWide
      confirm={t("environments.promoteSubmit", { to })}
      onConfirm={() => promote.mutateAsync({ from, to })}
    >
      <p>{t("environments.promoteHint", { from, to })}</p>
      <Difference project={project} from={from} to={to} />
    </ConfirmButton>
  );
}

function Difference({ project, from, to }: { project: Project; from: string; to: string }) {
  const query = useQuery(promotionQuery(project.id, { from, to }));
  return (
    <Loaded query={query}>
      {({ release, serving, items }) => (
        <>
          <div className="returning">
            <Commit task={release} />
            <span className="dim small">
              {t(serving === null ? "environments.firstThere" : "environments.replacing", { to })}
            </span>
            {serving !== null && <Commit task={serving} />}
          </div>
          {items.length === 0 ? (
            <p>{t("environments.sameSettings")}</p>
          ) : (
            <SettingsTable
              items={items}
              titles={[t("environments.promoted"), t("environments.servesNow", { to })]}
            />
          )}
        </>
      )}
    </Loaded>
  );
}
