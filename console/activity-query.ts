import { infiniteQueryOptions, keepPreviousData } from "@tanstack/react-query";
import { type ActivityFilters, activityQueryOf } from "./activity-filters.ts";
import { answerOf, api } from "./api.ts";

const pageSize = 30;

/** The list, page after page. */
export function activityQuery(filters: ActivityFilters) {
  const asked = activityQueryOf(filters);
  return infiniteQueryOptions({
    queryKey: ["activity", asked],
    queryFn: ({ pageParam }) =>
      answerOf(
        api.activity.$get({
          query: { pageSize, ...asked, ...(pageParam === null ? {} : { after: pageParam }) },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
  });
}
