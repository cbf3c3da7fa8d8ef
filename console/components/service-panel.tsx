import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { ServiceState } from "../../src/model/service/service.ts";
import { answerOf, api } from "../api.ts";
import { usePolling } from "../live.ts";
import { releasesQuery } from "../release-query.ts";
import { useServices } from "../service-query.ts";
import { type Serving, servingOf } from "../serving.ts";
import { meQuery } from "../session.ts";
import type { Project, Task } from "../shapes.ts";
import { reasonIn } from "../text/reason-text.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { shortRef, sizeText } from "../time-text.ts";
import { visible } from "../visible.ts";
import { Fact } from "./fact.tsx";
import { Moment, TaskMoment } from "./moment.tsx";
import { Rows } from "./page.tsx";
import { ReturnButton } from "./return-button.tsx";
import { StateLabel, Toned } from "./state.tsx";
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
  const state = servingOf(project, serving);
  const mayManage = project.permission === "manage";
  if (tasks.isPending || releases.isPending)
    return (
      <section className="panel service">
        <Rows count={3} />
      </section>
    );
  return (
    <section className="panel service" aria-label={t("service.title")}>
      <div className="service-main">
        <ServingState state={state} />
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
          <Fact name={t(state === "serving" ? "service.since" : "service.deployed")}>
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
              <TaskMoment task={last} />
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
    queryKey: ["activity", "of-projects", String(projectId)],
    queryFn: () => answerOf(api["project-tasks"].$get({ query: { projectIds: String(projectId) } })),
  };
}

const tones = {
  serving: "success",
  unchecked: "waiting",
  deploying: "running",
  never: "waiting",
  unknown: "warning",
} as const;

function ServingState({ state }: { state: Serving }) {
  if (!(state in tones)) return <StateLabel state={state as ServiceState} strong />;
  const own = state as keyof typeof tones;
  return (
    <Toned tone={tones[own]} strong>
      {t(`service.${own}`)}
    </Toned>
  );
}

function Address({ project: { id, publicUrl, permission } }: { project: Project }) {
  if (publicUrl !== "")
    return (
      <a href={publicUrl} target="_blank" rel="noreferrer" className="outside foreign">
        {visible(publicUrl)}
      </a>
    );
  return (
    <>
      <LocalPorts projectId={id} />
      {permission === "manage" ? (
        <Link href={`/projects/${id}/settings/source`}>{t("service.addAddress")}</Link>
      ) : (
        "–"
      )}
    </>
  );
}

const loopback = ["localhost", "127.0.0.1", "[::1]"];

/** Opened on the machine of the server: links to what the runner there serves. */
function LocalPorts({ projectId }: { projectId: number }) {
  const { data: me } = useQuery({ ...meQuery, enabled: false });
  const isHere = loopback.includes(location.hostname) && me?.role === "admin";
  const { data: found } = useServices(projectId, isHere);
  const { data: runners } = useQuery({
    queryKey: ["runners", "first"],
    queryFn: () => answerOf(api.runners.$get({ query: {} })),
    enabled: isHere,
  });
  const local = (runners?.items ?? []).filter((each) => each.local).map((each) => each.id);
  return (found?.services ?? [])
    .filter(({ port, runner }) => port !== null && local.includes(runner.id))
    .map(({ name, port }) => (
      <div key={name}>
        <a
          href={`http://${location.hostname}:${port}/`}
          target="_blank"
          rel="noreferrer"
          className="outside foreign"
        >
          {t("service.onPort", { name: visible(name), port: String(port) })}
        </a>
      </div>
    ));
}

function TaskLink({ task }: { task: Pick<Task, "id"> }) {
  return <Link href={`/tasks/${task.id}`}>{t("task.number", { id: String(task.id) })}</Link>;
}
