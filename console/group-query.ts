import { queryOptions, useQuery } from "@tanstack/react-query";
import { answerOf, api } from "./api.ts";
import type { Group } from "./shapes.ts";
import { visible } from "./visible.ts";

/** All that fit on one page of the API: enough for choices in forms. */
const allGroupsQuery = queryOptions({
  queryKey: ["groups", "all"],
  queryFn: () => answerOf(api.groups.$get({ query: { pageSize: 200 } })),
});

/** Groups that one may view; empty until they are known. */
export function useGroups(): Group[] {
  return useQuery(allGroupsQuery).data?.items ?? [];
}

/** Choices of a field that names a group. */
export function groupChoices(groups: Pick<Group, "id" | "name">[]): { value: string; label: string }[] {
  return groups.map(({ id, name }) => ({ value: String(id), label: visible(name) }));
}
