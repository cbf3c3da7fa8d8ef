import { queryOptions } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import { answerOf, api } from "./api.ts";

export type HostToken = InferResponseType<(typeof api)["host-tokens"]["$get"], 200>["items"][number];

/** The user's tokens for Git hosts. */
export const hostTokensQuery = queryOptions({
  queryKey: ["host-tokens"],
  queryFn: () => answerOf(api["host-tokens"].$get()),
});
