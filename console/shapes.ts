import type { InferResponseType } from "hono/client";
import type { api } from "./api.ts";

/** What the API answers, named; the types come from its own schemas. */
export type Project = InferResponseType<(typeof api.projects)[":id"]["$get"], 200>;
export type User = InferResponseType<(typeof api.users)[":id"]["$get"], 200>;
export type Group = InferResponseType<(typeof api.groups)[":id"]["$get"], 200>;
export type Runner = InferResponseType<(typeof api.runners)[":id"]["$get"], 200>;
export type AuditEntry = InferResponseType<typeof api.audit.$get, 200>["items"][number];
export type ApiToken = InferResponseType<typeof api.tokens.$get, 200>["items"][number];
export type Session = InferResponseType<typeof api.auth.sessions.$get, 200>["items"][number];
export type Task = InferResponseType<(typeof api.tasks)[":id"]["$get"], 200>;
export type ActivityRow = InferResponseType<typeof api.activity.$get, 200>["items"][number];
export type DeliverySummary = NonNullable<ActivityRow["delivery"]>;
export type Delivery = InferResponseType<(typeof api.webhooks.deliveries)[":id"]["$get"], 200>;
export type ReleaseList = InferResponseType<(typeof api.projects)[":id"]["releases"]["$get"], 200>;
export type Release = ReleaseList["items"][number];
export type Webhook = InferResponseType<(typeof api.projects)[":id"]["webhook"]["$get"], 200>;
export type RouteState = InferResponseType<
  (typeof api.projects)[":id"]["routes"]["$get"],
  200
>["routes"][number];
export type Requests = InferResponseType<
  (typeof api.projects)[":id"]["services"][":name"]["requests"]["$get"],
  200
>;
export type Service = InferResponseType<
  (typeof api.projects)[":id"]["services"]["$get"],
  200
>["services"][number];
