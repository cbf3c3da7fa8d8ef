import { Link } from "wouter";
import { DeliveryDetail } from "../components/delivery-detail.tsx";
import { PageHead, Panel } from "../components/page.tsx";

export default function DeliveryPage({ id }: { id: number }) {
  return (
    <>
      <PageHead title={`Delivery ${id}`} about={<Link href="/deliveries">All deliveries</Link>} />
      <Panel>
        <DeliveryDetail id={id} />
      </Panel>
    </>
  );
}
