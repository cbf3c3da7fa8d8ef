import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { answerOf, api } from "./api.ts";

/** The gateway's own figures are asked for: a count pushed to its own connections would change what it counts. */
const refreshMs = 2000;

export function usePushStats() {
  const query = useQuery({
    queryKey: ["push-connections"],
    queryFn: async () => ({
      atMs: Date.now(),
      ...(await answerOf(api.push.connections.$get({ query: {} }))),
    }),
    refetchInterval: refreshMs,
  });
  const [messagesPerSecond, setRate] = useState(0);
  const [before, setBefore] = useState<{ atMs: number; published: number } | null>(null);
  const { data } = query;
  useEffect(() => {
    if (data === undefined || before?.atMs === data.atMs) return;
    const seconds = before === null ? 0 : (data.atMs - before.atMs) / 1000;
    const published = before === null ? 0 : data.published - before.published;
    // A counter that went back belongs to a server that was restarted.
    setRate(seconds > 0 && published >= 0 ? published / seconds : 0);
    setBefore({ atMs: data.atMs, published: data.published });
  }, [data, before]);
  return { query, messagesPerSecond };
}
