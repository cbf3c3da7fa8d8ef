import { useQuery } from "@tanstack/react-query";
import { answerOf, api } from "../api.ts";
import { percentText } from "../percent-text.ts";
import { useRefreshed } from "../service-query.ts";
import type { Requests } from "../shapes.ts";
import { t } from "../text/text.ts";
import { countText, shortCommit } from "../time-text.ts";
import { Panel } from "./page.tsx";
import { Series, unbroken } from "./series.tsx";

const dayMs = 24 * 3_600_000;
/** Steps have five minutes; more than two without a request are a gap. */
const gapMs = 12 * 60_000;
const kinds = ["success", "redirect", "clientError", "serverError"] as const;

/** What the proxy answered for a service in the last day. A service without requests shows nothing. */
export function ServiceRequests({ projectId, name }: { projectId: number; name: string }) {
  const requests = useQuery({
    queryKey: ["requests", projectId, name],
    queryFn: () =>
      answerOf(api.projects[":id"].services[":name"].requests.$get({ param: { id: projectId, name } })),
    refetchInterval: useRefreshed(),
  });
  if (requests.data === undefined || requests.data.total.count === 0) return null;
  return <Figures requests={requests.data} />;
}

function Figures({ requests: { total, steps, releases, sinceRelease } }: { requests: Requests }) {
  const axis = { endMs: Date.now(), spanMs: dayMs };
  const marks = releases.map(({ at, commit }) => ({
    at,
    title: t("routes.releaseMark", { commit: shortCommit(commit) }),
  }));
  const shared = { parts: unbroken(steps, gapMs), axis, marks };
  const share = sinceRelease && sinceRelease.count > 0 ? sinceRelease.serverError / sinceRelease.count : null;
  return (
    <Panel title={t("routes.requests")}>
      {share !== null && (
        <p className={share > 0 ? "errors-after" : "dim"} role="status">
          {t("routes.errorsAfter", { share: percentText(share), count: sinceRelease?.count ?? 0 })}
        </p>
      )}
      <p className="dim small">
        {kinds.map((kind) => t(`routes.kind_${kind}`, { count: total[kind] })).join(" · ")}
      </p>
      <div className="usage">
        <Series
          {...shared}
          title={t("routes.perStep")}
          figures={t("routes.countOfDay", { count: total.count })}
          amountOf={({ count }) => count}
          kind="connections"
        />
        <Series
          {...shared}
          title={t("routes.errors")}
          figures={t("routes.kind_serverError", { count: total.serverError })}
          amountOf={({ serverError }) => serverError}
          kind="errors"
        />
        <Series
          {...shared}
          title={t("routes.p95")}
          figures={t("routes.times", { p50: milliseconds(total.p50Ms), p95: milliseconds(total.p95Ms) })}
          amountOf={({ p95Ms }) => p95Ms}
          kind="messages"
        />
      </div>
    </Panel>
  );
}

function milliseconds(ms: number): string {
  return t("routes.ms", { ms: ms < 10 ? ms.toFixed(1) : countText(Math.round(ms)) });
}
