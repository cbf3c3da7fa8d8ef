import { useQuery } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import { useLocation } from "wouter";
import { answerOf, api } from "./api.ts";

type Notices = InferResponseType<typeof api.notices.$get, 200>;

const refreshMs = 60_000;

/** What other pages than Home show of what needs attention; Home has all of it. */
export function useNotices(): { data: Notices | undefined; isPending: boolean } {
  const [path] = useLocation();
  const isElsewhere = path !== "/";
  const { data, isLoading } = useQuery({
    queryKey: ["notices"],
    queryFn: () => answerOf(api.notices.$get()),
    enabled: isElsewhere,
    staleTime: refreshMs / 2,
    refetchInterval: refreshMs,
  });
  return { data, isPending: isLoading };
}
