import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import { answerOf, api, queryClient } from "./api.ts";
import { noticesKey } from "./notices.ts";

export type OverviewData = InferResponseType<typeof api.overview.$get, 200>;
export type OverviewRow = OverviewData["projects"]["items"][number];

/** All of the overview in one request. The notices of the frame come with it. */
export function overviewQuery(page: number) {
  return queryOptions({
    queryKey: ["overview", page],
    queryFn: () => fetchOverview(page),
    placeholderData: keepPreviousData,
  });
}

async function fetchOverview(page: number): Promise<OverviewData> {
  const overview = await answerOf(api.overview.$get({ query: { page } }));
  queryClient.setQueryData(noticesKey, overview.notices);
  return overview;
}

/** Fetches the overview as the first request of a page load, so that the caller needs no request of its own. */
export async function startWithOverview(page: number): Promise<OverviewData> {
  const overview = await fetchOverview(page);
  queryClient.setQueryData(overviewQuery(page).queryKey, overview);
  return overview;
}
