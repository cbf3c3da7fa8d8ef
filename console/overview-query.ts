import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import { idOf, pageIn } from "./address.ts";
import { answerOf, api, queryClient } from "./api.ts";
import { noticesKey } from "./notices.ts";

export type OverviewData = InferResponseType<typeof api.overview.$get, 200>;
export type OverviewRow = OverviewData["projects"]["items"][number];

export const overviewStates = ["broken", "active", "never_ran"] as const;
export const overviewFilterNames = ["groupId", "state"] as const;

/** What the address bar asks the overview for. */
export interface OverviewView {
  page: number;
  groupId: string;
  state: string;
}

export function overviewViewIn(search: URLSearchParams): OverviewView {
  return { page: pageIn(search), groupId: search.get("groupId") ?? "", state: search.get("state") ?? "" };
}

/** All of the overview in one request. The notices of the frame come with it. */
export function overviewQuery(view: OverviewView) {
  return queryOptions({
    queryKey: ["overview", view],
    queryFn: () => fetchOverview(view),
    placeholderData: keepPreviousData,
  });
}

async function fetchOverview({ page, groupId, state }: OverviewView): Promise<OverviewData> {
  const known = overviewStates.find((each) => each === state);
  const query = {
    page,
    fold: "1" as const,
    ...(idOf(groupId) === null ? {} : { groupId }),
    ...(known === undefined ? {} : { state: known }),
  };
  const overview = await answerOf(api.overview.$get({ query }));
  queryClient.setQueryData(noticesKey, overview.notices);
  return overview;
}

/** Fetches the overview as the first request of a page load, so that the caller needs no request of its own. */
export async function startWithOverview(view: OverviewView): Promise<OverviewData> {
  const overview = await fetchOverview(view);
  queryClient.setQueryData(overviewQuery(view).queryKey, overview);
  return overview;
}
