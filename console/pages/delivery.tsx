import { Link } from "wouter";
import { DeliveryDetail } from "../components/delivery-detail.tsx";
import { PageHead, Panel } from "../components/page.tsx";
import { t } from "../text/text.ts";

export default function DeliveryPage({ id }: { id: number }) {
  return (
    <>
      <PageHead
        title={t("deliveries.one", { id: String(id) })}
        about={<Link href="/deliveries">{t("deliveries.all")}</Link>}
      />
      <Panel>
        <DeliveryDetail id={id} />
      </Panel>
    </>
  );
}
