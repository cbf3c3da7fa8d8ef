import { queryOptions, useQuery } from "@tanstack/react-query";
import type { InferRequestType } from "hono/client";
import { answerOf, api, ifMatch, queryClient } from "./api.ts";
import type { SettingsForm } from "./draft.ts";
import type { Group } from "./shapes.ts";
import { visible } from "./visible.ts";

/** All that fit on one page of the API: enough for choices in forms. */
const allGroupsQuery = queryOptions({
  queryKey: ["groups", "all"],
  queryFn: () => answerOf(api.groups.$get({ query: { pageSize: 200 } })),
});

export function groupQuery(id: number) {
  return queryOptions({
    // A number after the first word is a page of the list.
    queryKey: ["groups", "one", id],
    queryFn: () => answerOf(api.groups[":id"].$get({ param: { id } })),
  });
}

type GroupChange = InferRequestType<(typeof api.groups)[":id"]["$patch"]>["json"];

/** How forms read and save the settings of a group. */
export function groupForm(group: Group): SettingsForm<Group, GroupChange> {
  const { id } = group;
  return {
    source: group,
    reread: () => queryClient.fetchQuery({ ...groupQuery(id), staleTime: 0 }),
    save: (json, revision) =>
      answerOf(api.groups[":id"].$patch({ param: { id }, header: ifMatch(revision), json })),
    // Its projects show what they have of it.
    refresh: ["groups", "project"],
  };
}

/** Groups that one may view; empty until they are known. */
export function useGroups(): Group[] {
  return useQuery(allGroupsQuery).data?.items ?? [];
}

/** Choices of a field that names a group. */
export function groupChoices(groups: Pick<Group, "id" | "name">[]): { value: string; label: string }[] {
  return groups.map(({ id, name }) => ({ value: String(id), label: visible(name) }));
}
