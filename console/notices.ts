import { useQuery } from "@tanstack/react-query";
import type { InferResponseType } from "hono/client";
import { useLocation } from "wouter";
import { answerOf, api } from "./api.ts";

type Notices = InferResponseType<typeof api.notices.$get, 200>;

export const noticesKey = ["notices"] as const;
const refreshMs = 60_000;

/** What needs attention on every page. On the overview it comes with the overview itself. */
export function useNotices(): Notices | undefined {
  const [path] = useLocation();
  const isElsewhere = path !== "/";
  const { data } = useQuery({
    queryKey: noticesKey,
    queryFn: () => answerOf(api.notices.$get()),
    enabled: isElsewhere,
    staleTime: refreshMs / 2,
    refetchInterval: refreshMs,
  });
  return data;
}
