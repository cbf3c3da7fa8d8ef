import { Link, useLocation } from "wouter";
import { percentText } from "../percent-text.ts";
import { useServices } from "../service-query.ts";
import type { Project, Service } from "../shapes.ts";
import { t } from "../text/text.ts";
import { countText, shortCommit, sizeText } from "../time-text.ts";
import { visible } from "../visible.ts";
import { ItemTable } from "./list.tsx";
import { Moment } from "./moment.tsx";
import { Panel } from "./page.tsx";
import { serviceWhy } from "./service-why.tsx";
import { StateLabel } from "./state.tsx";

/** The services of a project: what runs, and how it is. */
export function ServiceList({ project }: { project: Project }) {
  const [, go] = useLocation();
  const isExpected = project.services !== null || !Array.isArray(project.pipeline.start);
  const { data } = useServices(project.id, isExpected);
  if (!data || data.services.length === 0) return null;
  const placeOf = ({ name }: Service) => `/projects/${project.id}/services/${name}`;
  return (
    <Panel title={t("services.title")} isFlush>
      <ItemTable
        label={t("services.title")}
        items={data.services.map((service, id) => ({ ...service, id }))}
        onOpen={(service) => go(placeOf(service))}
        columns={[
          {
            title: t("services.name"),
            cell: (service) => (
              <Link
                href={placeOf(service)}
                className="strong foreign"
                onClick={(event) => event.stopPropagation()}
              >
                {service.name}
              </Link>
            ),
          },
          { title: t("services.state"), cell: ({ state }) => <StateLabel state={state} /> },
          {
            title: t("services.release"),
            isWhole: true,
            cell: (service) => (
              <>
                <span className="mono">{visible(shortCommit(service.release?.commit ?? null))}</span>
                <ServiceReason service={service} />
              </>
            ),
          },
          {
            title: t("services.since"),
            cell: ({ since }) => (since === null ? "–" : <Moment at={since} />),
          },
          {
            title: t("services.restarts"),
            visibleFrom: "md",
            cell: ({ restarts }) => countText(restarts),
          },
          { title: t("services.use"), cell: (service) => <Use service={service} /> },
        ]}
      />
    </Panel>
  );
}

function ServiceReason({ service }: { service: Service }) {
  const why = service.state === "serving" ? null : serviceWhy(service);
  return why === null ? null : <div className="reason foreign">{why}</div>;
}

/** Memory and CPU now. */
function Use({ service: { memoryBytes, cpu } }: { service: Service }) {
  const amounts = [memoryBytes === null ? "–" : sizeText(memoryBytes), cpu === null ? "–" : percentText(cpu)];
  return <span className="nowrap">{amounts.join(" · ")}</span>;
}
