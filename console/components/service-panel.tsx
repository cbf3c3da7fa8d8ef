import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { answerOf, api } from "../api.ts";
import { usePolling } from "../live.ts";
import { releasesQuery } from "../release-query.ts";
import type { Project, Task } from "../shapes.ts";
import { reasonIn } from "../text/reason-text.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { shortRef, sizeText } from "../time-text.ts";
import { visible } from "../visible.ts";
import { Fact } from "./fact.tsx";
import { Moment } from "./moment.tsx";
import { ReturnButton } from "./return-button.tsx";
import { StateLabel } from "./state.tsx";
import { Commit, hasRunNothing } from "./task-parts.tsx";

/** What the project serves, where, since when, and the way back. */
export function ServicePanel({ project }: { project: Project }) {
  const refetchInterval = usePolling();
  const tasks = useQuery({ ...ownTasksQuery(project.id), refetchInterval });
  const releases = useQuery({ ...releasesQuery(project.id), refetchInterval });
  const next = releases.data?.items.find(({ isNext }) => isNext);
  const serving = releases.data?.items.find(({ isLive }) => isLive);
  const { last = null, live = null } = tasks.data?.items[0] ?? {};
  const { publicUrl } = project;
  const mayManage = project.permission === "manage";
  return (
    <section className="panel service" aria-label={t("service.title")}>
      <div className="service-main">
        <ServiceState project={project} />
        {live && <Commit task={live} />}
        {project.liveNote !== "" && (
          <p className="service-note foreign">{reasonIn(project.liveNote, project.liveNoteParts)}</p>
        )}
        {project.liveTaskId === null && project.liveNote === "" && (
          <p className="service-note">
            {t("service.neverHint", { ref: visible(shortRef(project.git.ref)) })}
          </p>
        )}
      </div>
      <div className="service-actions">
        {publicUrl !== "" && (
          <Button
            component="a"
            href={publicUrl}
            target="_blank"
            rel="noreferrer"
            variant="default"
            title={t("service.visitHint", { url: visible(publicUrl) })}
          >
            <span className="outside">{t("service.visit")}</span>
          </Button>
        )}
        {mayManage && next && <ReturnButton project={project} release={next} />}
      </div>
      <dl className="service-facts">
        <Fact name={t("service.address")}>
          <Address project={project} />
        </Fact>
        {live && serving && (
          <Fact name={t("service.since")}>
            {rich("service.byTask", {
              when: <Moment at={serving.deployedAt} />,
              task: <TaskLink task={live} />,
            })}
          </Fact>
        )}
        {last && (
          <Fact name={t("service.lastDeploy")}>
            <Link href={`/tasks/${last.id}`} className="task-link">
              <StateLabel state={last.state} text={hasRunNothing(last) ? t("tasks.nothingRan") : undefined} />
              <Moment at={last.createdAt} />
            </Link>
          </Fact>
        )}
        {project.disk && (
          <Fact name={t("service.disk")}>
            <DiskUse disk={project.disk} />
          </Fact>
        )}
      </dl>
    </section>
  );
}

function DiskUse({ disk }: { disk: NonNullable<Project["disk"]> }) {
  const { releasesBytes, dataBytes, limitBytes } = disk;
  const sizes = { releases: sizeText(releasesBytes), data: sizeText(dataBytes) };
  if (limitBytes === null) return t("service.diskUse", sizes);
  return t("service.diskUseOf", { ...sizes, limit: sizeText(limitBytes) });
}

function ownTasksQuery(projectId: number) {
  return {
    queryKey: ["tasks", "of-projects", String(projectId)],
    queryFn: () => answerOf(api["project-tasks"].$get({ query: { projectIds: String(projectId) } })),
  };
}

/** A deploy is on its way to take the place of what served. */
const replacing = ["live_deploying", "live_replacing", "live_replacing_service"];

function ServiceState({ project: { liveTaskId, liveNote, liveNoteParts, services } }: { project: Project }) {
  const isReplacing = liveNoteParts.some(({ code }) => replacing.includes(code));
  if (services !== null && services.state !== "serving" && !isReplacing)
    return <StateLabel state={services.state} strong />;
  const [tone, text] =
    liveTaskId !== null
      ? ["success", t("service.serving")]
      : liveNote === ""
        ? ["waiting", t("service.never")]
        : isReplacing
          ? ["running", t("service.deploying")]
          : ["warning", t("service.unknown")];
  return (
    <span className="state" data-tone={tone} data-strong>
      <span className="state-dot" aria-hidden="true" />
      {text}
    </span>
  );
}

function Address({ project: { id, publicUrl, permission } }: { project: Project }) {
  if (publicUrl !== "")
    return (
      <a href={publicUrl} target="_blank" rel="noreferrer" className="outside foreign">
        {visible(publicUrl)}
      </a>
    );
  if (permission !== "manage") return "–";
  return <Link href={`/projects/${id}/settings/general`}>{t("service.addAddress")}</Link>;
}

function TaskLink({ task }: { task: Pick<Task, "id"> }) {
  return <Link href={`/tasks/${task.id}`}>{t("task.number", { id: String(task.id) })}</Link>;
}
