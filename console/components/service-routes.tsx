import { useQuery } from "@tanstack/react-query";
import { answerOf, api } from "../api.ts";
import { useRefreshed } from "../service-query.ts";
import type { RouteState } from "../shapes.ts";
import { reasonIn } from "../text/reason-text.ts";
import { t } from "../text/text.ts";
import { minuteText } from "../time-text.ts";
import { visible } from "../visible.ts";
import { Panel } from "./page.tsx";
import { StateLabel } from "./state.tsx";

/** Where users reach a service, and what is wrong there. A service without routes shows nothing. */
export function ServiceRoutes({ projectId, name }: { projectId: number; name: string }) {
  const routes = useQuery({
    queryKey: ["routes", projectId],
    queryFn: () => answerOf(api.projects[":id"].routes.$get({ param: { id: projectId } })),
    refetchInterval: useRefreshed(),
  });
  const own = routes.data?.routes.filter(({ service }) => service === name) ?? [];
  if (own.length === 0) return null;
  return (
    <Panel title={t("routes.title")}>
      <ul className="routes">
        {own.map((route) => (
          <li key={`${route.domain} ${route.path}`}>
            <RouteLine route={route} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function RouteLine({ route }: { route: RouteState }) {
  const { url, domain, state, fault, faultParts, certificateUntil } = route;
  return (
    <>
      <StateLabel state={`route_${state}`} />
      {domain.startsWith("*.") ? (
        <span className="foreign">{visible(domain + route.path)}</span>
      ) : (
        <a href={url} target="_blank" rel="noreferrer" className="outside foreign">
          {visible(url)}
        </a>
      )}
      {certificateUntil !== null && (
        <span className="dim small">{t("routes.certificate", { until: minuteText(certificateUntil) })}</span>
      )}
      {fault !== "" && state !== "waiting" && (
        <p className="service-note foreign">{reasonIn(fault, faultParts)}</p>
      )}
    </>
  );
}
