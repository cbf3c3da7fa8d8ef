import type { Delivery, DeliveryStatus, DeliverySummary, Followed } from "../../model/delivery.ts";
import { json, optional, plain, reasonField, rowShape, time } from "../query/row.ts";
import { eventField } from "./delivery-scan.ts";

const summaryFields = {
  id: plain<number>(),
  project_id: plain<number>(),
  project_name: plain<string>(),
  provider: plain<Delivery["provider"]>(),
  event: plain<Delivery["event"]>(),
  ref: plain<string>(),
  ref_type: plain<Delivery["ref_type"]>(),
  commit: plain<string>(),
  commit_message: plain<string>(),
  author: plain<string>(),
  status: plain<DeliveryStatus>(),
  reason: reasonField,
  task_id: plain<number>(),
  remote_ip: plain<string>(),
  created_at: time,
  code: plain<Delivery["code"]>(),
  http_status: plain<number>(),
  count: plain<number>(),
  host_delivery_id: plain<string>(),
  repeat_of: plain<number | null>(),
  replay_of: plain<number | null>(),
  merged_into_task_id: plain<number | null>(),
  former_project_id: plain<number | null>(),
};
export const summaryShape = rowShape<Omit<DeliverySummary, Followed>, "deliveries">(summaryFields);
export const deliveryShape = rowShape<Omit<Delivery, Followed>, "deliveries">({
  ...summaryFields,
  headers: json(),
  normalized: optional(eventField),
  trace: json(),
  body: plain(),
});
