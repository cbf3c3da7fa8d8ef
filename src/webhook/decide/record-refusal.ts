import type { NewDelivery } from "../../model/delivery.ts";
import type { AddedCall } from "../../model/outgoing-call.ts";
import { operation } from "../../model/store.ts";
import { reportDelivery } from "../../task/notify/delivery-news.ts";
import { summaryOf } from "./record.ts";

interface Refusal {
  record: NewDelivery;
  consoleUrl: string;
}

/** Records a delivery that was refused before it could be decided, and stores the messages about it. */
export const recordRefusal = operation(
  "recordRefusal",
  async (keepers, { record, consoleUrl }: Refusal): Promise<{ id: number; calls: AddedCall[] }> => {
    const [id, project] = await Promise.all([
      keepers.deliveries.create(record),
      keepers.projects.byId(record.project_id),
    ]);
    const calls =
      project === null
        ? []
        : await reportDelivery(keepers, { ...summaryOf(record), id }, project, consoleUrl);
    return { id, calls };
  },
);
