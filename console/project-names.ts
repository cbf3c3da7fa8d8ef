import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { answerOf, api, queryClient } from "./api.ts";
import { projectQuery } from "./project-query.ts";

const shown = 20;
const most = 100;

/** The first projects whose names contain a text. The server searches, so that it works with any number of projects. */
export function projectNamesQuery(search: string, pageSize = shown) {
  return queryOptions({
    queryKey: ["projects", "names", search, pageSize],
    queryFn: () =>
      answerOf(api["project-names"].$get({ query: { pageSize, ...(search === "" ? {} : { search }) } })),
    placeholderData: keepPreviousData,
  });
}

/** The name of the project with this id; none as long as it is not known. */
export function useProjectName(id: string): string | undefined {
  const project = useQuery({ ...projectQuery(Number(id)), enabled: /^[1-9]\d*$/.test(id), retry: false });
  return project.data?.name;
}

/** The id of the project with this name. A number that is no name is an id. */
export async function projectIdOf(name: string): Promise<string | undefined> {
  const { items } = await queryClient.fetchQuery(projectNamesQuery(name.slice(0, most), most));
  const found = items.find((project) => project.name === name);
  return found === undefined ? /^[1-9]\d{0,15}$/.exec(name)?.[0] : String(found.id);
}
