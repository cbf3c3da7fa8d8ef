import { useQuery } from "@tanstack/react-query";
import { answerOf, api } from "./api.ts";
import { coversProjects, untilFilled, useLiveProjects } from "./live.ts";

/** As many as one connection can follow. */
const followed = 100;

/** For lists over all projects: follows them live as far as one connection can, and says whether that is all. */
export function useAllProjects(): { isCovered: boolean } {
  const { data } = useQuery({
    queryKey: ["projects", "followed"],
    queryFn: () => answerOf(api["project-names"].$get({ query: { pageSize: followed } })),
    staleTime: 10_000,
    refetchInterval: untilFilled(),
  });
  useLiveProjects((data?.items ?? []).map(({ id }) => id));
  // False: lists must be polled, too.
  return { isCovered: coversProjects(data?.total ?? 0) };
}
