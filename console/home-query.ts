import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import { given, idOf, pageIn } from "./address.ts";
import { answerOf, api, queryClient } from "./api.ts";

export type HomeData = InferResponseType<typeof api.home.$get, 200>;
export type HomeRow = HomeData["projects"]["items"][number];
export type Need = HomeData["needs"][number];

/** What the address bar asks Home for. */
interface HomeView {
  page: number;
  groupId: string;
  search: string;
}

export function homeViewIn(search: URLSearchParams): HomeView {
  const groupId = search.get("groupId") ?? "";
  return {
    page: pageIn(search),
    groupId: idOf(groupId) === null ? "" : groupId,
    search: (search.get("search") ?? "").slice(0, 100),
  };
}

/** All of Home in one request. */
export function homeQuery(view: HomeView) {
  const { page, groupId, search } = view;
  return queryOptions({
    queryKey: ["home", view],
    queryFn: () => answerOf(api.home.$get({ query: { page, ...given({ groupId, search }) } })),
    placeholderData: keepPreviousData,
  });
}

/** Fetches Home as the first request of a page load, so that the caller needs no request of its own. */
export function startWithHome(view: HomeView): Promise<HomeData> {
  return queryClient.fetchQuery(homeQuery(view));
}
