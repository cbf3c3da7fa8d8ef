import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { Moment } from "../../components/moment.tsx";
import { deliveriesQuery } from "../../delivery-query.ts";
import { usePolling } from "../../live.ts";
import type { DeliverySummary } from "../../shapes.ts";
import { reasonIn } from "../../text/reason-text.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";

/** Shows whether deliveries of the host arrive. It changes by itself while the user fills in the form of the host. */
export function Arrival({ projectId }: { projectId: number }) {
  const refetchInterval = usePolling();
  const filters = { projectId: String(projectId), status: "", code: "", from: "", to: "", search: "" };
  const query = useQuery({ ...deliveriesQuery(filters, 1), refetchInterval });
  if (query.data === undefined) return <div className="arrival">{"\u00a0"}</div>;
  const last = query.data.items.find(({ remote_ip: from }) => from !== "test" && from !== "replay");
  if (last === undefined) {
    return (
      <div className="arrival" data-tone="waiting" role="status">
        <span className="arrival-lamp" aria-hidden="true" />
        <span>{t("webhook.waiting")}</span>
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
        {rich(isRefused ? "webhook.arrivedRefused" : "webhook.arrived", {
          when: <Moment at={delivery.created_at} />,
        })}{" "}
        <Link href={`/deliveries/${delivery.id}`}>{reasonIn(delivery.reason, delivery.reason_parts)}</Link>
      </span>
    </div>
  );
}
