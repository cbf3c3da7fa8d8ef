import { useQuery } from "@tanstack/react-query";
import { coversProjects, untilFilled, useLiveProjects } from "./live.ts";
import { allProjectsQuery } from "./project-query.ts";
import { visible } from "./visible.ts";

/** For pages about all projects: keeps them live as far as one connection reaches, and says whether that is all. */
export function useAllProjects() {
  const { data } = useQuery({ ...allProjectsQuery, refetchInterval: untilFilled() });
  const items = data?.items ?? [];
  useLiveProjects(items.map((project) => project.id));
  return {
    isEmpty: data?.total === 0,
    /** False: lists must be polled, too. */
    isCovered: coversProjects(data?.total ?? 0),
    nameOf: (id: number) => visible(items.find((project) => project.id === id)?.name ?? `Project ${id}`),
  };
}
