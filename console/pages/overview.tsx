import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Link } from "wouter";
import { useAllProjects } from "../all-projects.ts";
import { answerOf, api } from "../api.ts";
import { OutcomeBars } from "../components/outcome-bars.tsx";
import { PageHead, Panel } from "../components/page.tsx";
import { Loaded } from "../components/query.tsx";
import { Commit, TaskState, TaskTimes, Waiting } from "../components/task-parts.tsx";
import { TryIt } from "../components/try-it.tsx";
import { usePolling, whileWaiting } from "../live.ts";
import { usePushStats } from "../push-stats.ts";
import { meQuery } from "../session.ts";
import type { Task } from "../shapes.ts";

const RatePlot = lazy(() => import("../components/rate-plot.tsx"));

export function Overview() {
  const { isEmpty, isCovered, nameOf } = useAllProjects();
  const { data: me } = useQuery(meQuery);
  const refetchInterval = usePolling(isCovered);
  const common = { nameOf, refetchInterval };
  const isAdmin = me?.role === "admin";
  if (isEmpty) {
    return (
      <>
        <PageHead
          title="Welcome"
          tab="Overview"
          about="Nothing is set up yet. This is where you will see what runs."
        />
        <TryIt isAdmin={isAdmin} />
      </>
    );
  }
  return (
    <>
      <PageHead title="Overview" about="What runs, what waits, and what needs a look." />
      <div className="columns">
        <div className="stack">
          <TaskPanel
            title="Running now"
            states={["running", "dispatched", "canceling"]}
            {...common}
            empty="Nothing runs."
          />
          <TaskPanel title="Waiting" states={["queued"]} {...common} empty="Nothing waits." />
          <TaskPanel
            title="Failed last"
            states={["failed", "timeout", "lost"]}
            {...common}
            empty="Nothing has failed. Keep it that way."
          />
        </div>
        <div className="stack">
          <Outcomes refetchInterval={refetchInterval} />
          {isAdmin && <PushPanel />}
        </div>
      </div>
    </>
  );
}

const shown = 5;

function TaskPanel({
  title,
  states,
  nameOf,
  empty,
  refetchInterval,
}: {
  title: string;
  states: Task["state"][];
  nameOf: (projectId: number) => string;
  empty: string;
  refetchInterval: number | false;
}) {
  const query = useQuery({
    queryKey: ["overview", "tasks", states],
    queryFn: async () => {
      const pages = await Promise.all(
        states.map((state) => answerOf(api.tasks.$get({ query: { state, pageSize: shown } }))),
      );
      const items = pages.flatMap((page) => page.items).sort((a, b) => b.id - a.id);
      return { items: items.slice(0, shown), total: pages.reduce((sum, page) => sum + page.total, 0) };
    },
    refetchInterval: ({ state: { data } }) => whileWaiting(data?.items ?? [], refetchInterval),
  });
  return (
    <Panel
      title={
        <>
          {title} <span className="dim figures">{query.data?.total ?? ""}</span>
        </>
      }
    >
      <div className="task-cards">
        <Loaded query={query}>
          {({ items }) =>
            items.length === 0 ? (
              <Text size="sm" c="dimmed">
                {empty}
              </Text>
            ) : (
              items.map((task) => (
                <div key={task.id} className="task-card">
                  <div className="task-card-head">
                    <Link href={`/projects/${task.projectId}`} className="foreign task-card-name">
                      {nameOf(task.projectId)}
                    </Link>
                    <TaskState task={task} />
                  </div>
                  <Commit task={task} />
                  <Waiting task={task} />
                  <Text size="sm" c="dimmed" component="div">
                    <TaskTimes task={task} />
                  </Text>
                </div>
              ))
            )
          }
        </Loaded>
      </div>
    </Panel>
  );
}

function Outcomes({ refetchInterval }: { refetchInterval: number | false }) {
  const query = useQuery({
    queryKey: ["overview", "outcomes"],
    queryFn: () => answerOf(api.webhooks.stats.$get()),
    refetchInterval: refetchInterval === false ? 60_000 : refetchInterval,
  });
  return (
    <Panel
      title="Deliveries by outcome"
      about="The last 24 hours."
      action={<Link href="/deliveries">All deliveries</Link>}
    >
      <Loaded query={query}>{({ items, to }) => <OutcomeBars counts={items} toMs={Date.parse(to)} />}</Loaded>
    </Panel>
  );
}

function PushPanel() {
  const { query, points, messagesPerSecond } = usePushStats();
  return (
    <Panel
      title="Push gateway"
      about={
        query.data === undefined
          ? "…"
          : `${query.data.total} connections, ${messagesPerSecond.toFixed(1)} messages a second`
      }
      action={<Link href="/push">Open</Link>}
    >
      <Suspense fallback={<div className="plot" />}>
        <RatePlot points={points} />
      </Suspense>
    </Panel>
  );
}
