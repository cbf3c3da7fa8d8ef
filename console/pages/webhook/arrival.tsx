import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { Moment } from "../../components/moment.tsx";
import { deliveriesQuery } from "../../delivery-query.ts";
import { usePolling } from "../../live.ts";
import type { DeliverySummary } from "../../shapes.ts";
import { visible } from "../../visible.ts";

/** Tells, while somebody fills in the host's form next door, whether what the host sends arrives. */
export function Arrival({ projectId }: { projectId: number }) {
  const refetchInterval = usePolling();
  const filters = { projectId: String(projectId), status: "", code: "", from: "", to: "", search: "" };
  const query = useQuery({ ...deliveriesQuery(filters, 1), refetchInterval });
  if (query.data === undefined) return <div className="arrival">&nbsp;</div>;
  const last = query.data.items.find(({ remote_ip: from }) => from !== "test" && from !== "replay");
  if (last === undefined) {
    return (
      <div className="arrival" data-tone="waiting" role="status">
        <span className="arrival-lamp" aria-hidden="true" />
        <span>
          Waiting for the first delivery. It appears here as soon as your Git host sends a ping or a push.
        </span>
      </div>
    );
  }
  return <Arrived delivery={last} />;
}

function Arrived({ delivery }: { delivery: DeliverySummary }) {
  const isRefused = delivery.status === "rejected" || delivery.status === "failed";
  return (
    <div className="arrival" data-tone={isRefused ? "failed" : "success"} role="status">
      <span className="arrival-lamp" aria-hidden="true" />
      <span>
        {isRefused ? "A delivery arrived, but was refused" : "Deliveries arrive"}: the last{" "}
        <Moment at={delivery.created_at} />.{" "}
        <Link href={`/deliveries/${delivery.id}`}>{visible(delivery.reason)}</Link>
      </span>
    </div>
  );
}
