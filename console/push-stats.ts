import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { answerOf, api } from "./api.ts";
import type { RatePoint } from "./components/rate-plot.tsx";

/** The gateway's own figures are asked for: a count pushed to its own connections would change what it counts. */
const refreshMs = 2000;
/** Five minutes. */
const maxPoints = 150;

export function usePushStats(isEnabled = true) {
  const query = useQuery({
    queryKey: ["push-connections"],
    queryFn: async () => ({
      atMs: Date.now(),
      ...(await answerOf(api.push.connections.$get({ query: {} }))),
    }),
    refetchInterval: refreshMs,
    enabled: isEnabled,
  });
  const [points, setPoints] = useState<RatePoint[]>([]);
  const [before, setBefore] = useState<{ atMs: number; published: number } | null>(null);
  const { data } = query;
  useEffect(() => {
    if (data === undefined || before?.atMs === data.atMs) return;
    const seconds = before === null ? 0 : (data.atMs - before.atMs) / 1000;
    const published = before === null ? 0 : data.published - before.published;
    // A counter that went back belongs to a server that was restarted.
    const messagesPerSecond = seconds > 0 && published >= 0 ? published / seconds : 0;
    setBefore({ atMs: data.atMs, published: data.published });
    setPoints((held) => [
      ...held.slice(1 - maxPoints),
      { atMs: data.atMs, connections: data.total - data.console, messagesPerSecond },
    ]);
  }, [data, before]);
  return { query, points, messagesPerSecond: points.at(-1)?.messagesPerSecond ?? 0 };
}
