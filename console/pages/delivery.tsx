import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { DeliveryDetail } from "../components/delivery-detail.tsx";
import { PageHead, Panel } from "../components/page.tsx";
import { deliveryQuery } from "../delivery-query.ts";
import { useRecent } from "../recent.ts";
import { t } from "../text/text.ts";

export default function DeliveryPage({ id }: { id: number }) {
  const { data } = useQuery(deliveryQuery(id));
  useRecent(data ? `/deliveries/${id}` : null, data?.project_name);
  const isOfProject = data !== undefined && data.project_id !== 0;
  return (
    <>
      <PageHead
        {...(isOfProject ? { project: { id: data.project_id, name: data.project_name } } : {})}
        title={t("deliveries.one", { id: String(id) })}
        about={<Link href="/activity">{t("activity.all")}</Link>}
      />
      <Panel>
        <DeliveryDetail id={id} />
      </Panel>
    </>
  );
}
