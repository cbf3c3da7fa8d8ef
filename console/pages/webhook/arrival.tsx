import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { Moment } from "../../components/moment.tsx";
import { deliveriesQuery } from "../../delivery-query.ts";
import { usePolling } from "../../live.ts";
import type { DeliverySummary } from "../../shapes.ts";
import { reasonIn } from "../../text/reason-text.ts";
import { rich } from "../../text/rich.ts";
import { t } from "../../text/text.ts";

/** The last delivery that the host sent. Null: none yet; undefined: not loaded. */
export function useArrival(projectId: number): DeliverySummary | null | undefined {
  const refetchInterval = usePolling();
  const { data } = useQuery({ ...deliveriesQuery(projectId), refetchInterval });
  return data && (data.items.find(({ remote_ip: from }) => from !== "test" && from !== "replay") ?? null);
}

export function isRefused({ status }: DeliverySummary): boolean {
  return status === "rejected" || status === "failed";
}

/** Whether deliveries of the host arrive. It changes by itself while the user fills in the form of the host. */
export function ArrivalState({ delivery }: { delivery: DeliverySummary | null | undefined }) {
  if (delivery === undefined) return <div className="arrival">{"\u00a0"}</div>;
  if (delivery === null)
    return (
      <div className="arrival" data-tone="waiting" role="status">
        <span className="arrival-lamp" aria-hidden="true" />
        <span>{t("webhook.waiting")}</span>
      </div>
    );
  const isWrong = isRefused(delivery);
  return (
    <div className="arrival" data-tone={isWrong ? "failed" : "success"} role="status">
      <span className="arrival-lamp" aria-hidden="true" />
      <span>
        {rich(isWrong ? "webhook.arrivedRefused" : "webhook.arrived", {
          when: <Moment at={delivery.created_at} />,
        })}{" "}
        <Link href={`/deliveries/${delivery.id}`}>{reasonIn(delivery.reason, delivery.reason_parts)}</Link>
      </span>
    </div>
  );
}
