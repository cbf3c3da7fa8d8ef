import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { ConfirmButton } from "../components/confirm.tsx";
import { Fact } from "../components/fact.tsx";
import { Icon } from "../components/icon.tsx";
import { Moment } from "../components/moment.tsx";
import { Empty, PageHead, Panel, reachable } from "../components/page.tsx";
import { LoadedPage } from "../components/query.tsx";
import { Series, unbroken } from "../components/series.tsx";
import { ServiceOutputView } from "../components/service-output.tsx";
import { ServiceRequests } from "../components/service-requests.tsx";
import { ServiceRoutes } from "../components/service-routes.tsx";
import { serviceWhy } from "../components/service-why.tsx";
import { StateLabel } from "../components/state.tsx";
import { useLiveProjects, usePolling } from "../live.ts";
import { percentText } from "../percent-text.ts";
import { projectQuery } from "../project-query.ts";
import { type ServiceActionName, useServiceAction, useServices } from "../service-query.ts";
import type { Project, Service } from "../shapes.ts";
import { taskQuery } from "../task-query.ts";
import { rich } from "../text/rich.ts";
import { t } from "../text/text.ts";
import { countText, shortCommit, sizeText } from "../time-text.ts";
import { visible } from "../visible.ts";

export default function ServicePage({ projectId, name }: { projectId: number; name: string }) {
  useLiveProjects([projectId]);
  const polling = usePolling();
  const project = useQuery({ ...projectQuery(projectId), refetchInterval: polling });
  const services = useServices(projectId);
  const list = { href: `/projects/${projectId}`, label: t("services.toProject") };
  const title = t("services.one", { name: visible(name) });
  return (
    <LoadedPage query={project} title={title} list={list}>
      {(loaded) => (
        <LoadedPage query={services} title={title} list={list}>
          {(found) => {
            const service = found.services.find((each) => each.name === name);
            return service === undefined ? (
              <Missing projectId={projectId} name={name} />
            ) : (
              <ServiceView project={loaded} service={service} />
            );
          }}
        </LoadedPage>
      )}
    </LoadedPage>
  );
}

function Missing({ projectId, name }: { projectId: number; name: string }) {
  const project = <Link href={`/projects/${projectId}`}>{t("services.toProject")}</Link>;
  return (
    <>
      <PageHead title={t("services.one", { name: visible(name) })} />
      <Empty title={t("services.missing", { name: visible(name) })}>
        {rich("services.missingHint", { project })}
      </Empty>
    </>
  );
}

function ServiceView({ project, service }: { project: Project; service: Service }) {
  const [taskId, setTaskId] = useState<number | null>(null);
  return (
    <>
      <PageHead title={t("services.one", { name: service.name })} project={project}>
        {project.permission === "manage" && (
          <Actions projectId={project.id} service={service} onTask={setTaskId} />
        )}
      </PageHead>
      <div className="stack">
        <State service={service} taskId={taskId} />
        <ServiceRoutes projectId={project.id} name={service.name} />
        <ServiceRequests projectId={project.id} name={service.name} />
        <Usage service={service} />
        <ServiceOutputView projectId={project.id} service={service} />
      </div>
    </>
  );
}

/** What can be done in its state. Of a service whose runner is away, nothing. */
function Actions({
  projectId,
  service: { name, state },
  onTask,
}: {
  projectId: number;
  service: Service;
  onTask: (id: number) => void;
}) {
  const start = useServiceAction(projectId, name, "start");
  const stop = useServiceAction(projectId, name, "stop");
  const restart = useServiceAction(projectId, name, "restart");
  if (state === "unknown") return null;
  const button = (action: ServiceActionName, { mutate, isPending }: typeof start, icon: "play" | "again") => (
    <Button
      variant="default"
      leftSection={<Icon name={icon} size={14} />}
      loading={isPending}
      onClick={() => mutate(undefined, { onSuccess: ({ id }) => onTask(id) })}
    >
      {t(`services.${action}`)}
    </Button>
  );
  if (state === "stopped" || state === "down") return button("start", start, "play");
  return (
    <>
      {button("restart", restart, "again")}
      <ConfirmButton
        label={t("services.stop")}
        leftSection={<Icon name="stop" size={14} />}
        title={t("services.stopTitle", { name })}
        confirm={t("services.stopSubmit")}
        isDanger
        onConfirm={async () => onTask((await stop.mutateAsync(undefined)).id)}
      >
        {t("services.stopAbout")}
      </ConfirmButton>
    </>
  );
}

function State({ service, taskId }: { service: Service; taskId: number | null }) {
  const { state, since, release, restarts, port, runner, lastLines, memoryBytes, cpu } = service;
  const why = serviceWhy(service);
  const hasEnded = lastLines !== "" && (state !== "serving" || restarts > 0);
  return (
    <section className="panel service" aria-label={t("services.state")}>
      <div className="service-main">
        <StateLabel state={state} strong />
        {why !== null && <p className="service-note foreign">{why}</p>}
        {taskId !== null && <LastAction taskId={taskId} />}
        {hasEnded && (
          <details open={state !== "serving"}>
            <summary>{t("services.lastLines")}</summary>
            <pre className="last-lines" {...reachable}>
              {visible(lastLines)}
            </pre>
          </details>
        )}
      </div>
      <dl className="service-facts">
        <Fact name={t("services.since")}>{since === null ? "–" : <Moment at={since} />}</Fact>
        <Fact name={t("services.release")}>
          {release === null ? (
            "–"
          ) : (
            <>
              <Link href={`/tasks/${release.taskId}`} className="mono">
                {visible(shortCommit(release.commit))}
              </Link>{" "}
              <span className="foreign dim">{visible(release.message.split("\n")[0] ?? "")}</span>
            </>
          )}
        </Fact>
        <Fact name={t("services.restarts")}>{countText(restarts)}</Fact>
        <Fact name={t("services.memory")}>{memoryBytes === null ? "–" : sizeText(memoryBytes)}</Fact>
        <Fact name={t("services.cpu")}>{cpu === null ? "–" : percentText(cpu)}</Fact>
        <Fact name={t("services.port")}>{port === null ? "–" : String(port)}</Fact>
        <Fact name={t("services.runner")}>
          <span className="foreign">{visible(runner.name)}</span>
        </Fact>
      </dl>
    </section>
  );
}

/** The task of the button that was pressed, as it goes on. */
function LastAction({ taskId }: { taskId: number }) {
  const task = useQuery(taskQuery(taskId));
  const link = (
    <Link href={`/tasks/${taskId}`} className="task-link">
      {t("task.number", { id: String(taskId) })}
      {task.data && <StateLabel state={task.data.state} />}
    </Link>
  );
  return (
    <p className="service-note" role="status">
      {rich("services.lastAction", { task: link })}
    </p>
  );
}

const dayMs = 24 * 3_600_000;
/** The server keeps one sample in five minutes; two missing ones are a gap. */
const sampleGapMs = 12 * 60_000;

function Usage({ service: { samples, memoryBytes, cpu } }: { service: Service }) {
  const axis = { endMs: Date.now(), spanMs: dayMs };
  const [memory, processor] = (["memoryBytes", "cpu"] as const).map((kind) =>
    samples.flatMap(({ at, [kind]: amount }) => (amount === null ? [] : [{ at, amount }])),
  );
  if (!memory || !processor || memory.length + processor.length === 0)
    return <p className="service-note small">{t("services.noUsage")}</p>;
  return (
    <Panel title={t("services.usage")}>
      <div className="usage">
        <Series
          title={t("services.memory")}
          figures={usageText(memory, memoryBytes, sizeText)}
          parts={unbroken(memory, sampleGapMs)}
          amountOf={({ amount }) => amount}
          kind="connections"
          axis={axis}
        />
        <Series
          title={t("services.cpu")}
          figures={usageText(processor, cpu, percentText)}
          parts={unbroken(processor, sampleGapMs)}
          amountOf={({ amount }) => amount}
          kind="messages"
          axis={axis}
          atLeast={0.05}
        />
      </div>
    </Panel>
  );
}

function usageText(
  points: { amount: number }[],
  now: number | null,
  write: (amount: number) => string,
): string {
  const most = write(Math.max(now ?? 0, ...points.map(({ amount }) => amount)));
  return now === null ? t("services.usageMost", { most }) : t("services.usageNow", { now: write(now), most });
}
