import { allOf, type OperationsOptions } from "../http/routes/operator-routes.ts";
import type { Metrics } from "../metrics.ts";
import { connectionsReport } from "../push/connections-report.ts";
import type { Question } from "../workers/protocol.ts";
import type { ProcessMetrics } from "../workers/supervisor/metrics-sum.ts";
import type { WorkerContext } from "./app-context.ts";
import type { PushPart } from "./push-part.ts";

type Operations = Pick<OperationsOptions, "metrics" | "missing">;

/** /metrics and /readyz of a worker answer for all workers. Its own part of these answers goes to the supervisor. */
export function workerHealth(
  { link, bootTag, worker }: WorkerContext,
  { gateway }: PushPart,
  metrics: Metrics,
  missing: Operations["missing"],
): Operations {
  link.onQuestion(async (question: Question) => {
    switch (question.about) {
      case "online":
        return gateway.connections.onlineUsers();
      case "connections":
        return connectionsReport(gateway, question.userId);
      case "count":
        return gateway.control.countHere(question.selector);
      case "metrics":
        return {
          boot: `${bootTag}-${worker}-${process.pid}`,
          metrics: await metrics.getMetricsAsJSON(),
        } satisfies ProcessMetrics;
      case "missing":
        return missing();
    }
  });
  return {
    metrics: {
      contentType: metrics.contentType,
      metrics: async () => (await link.call("metrics", null)).text,
    },
    missing: allOf([() => link.call("missing", null)]),
  };
}
