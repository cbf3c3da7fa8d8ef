import type { InstanceReports } from "../http/feign/feign-routes.ts";
import type { ConnectionsReport } from "../model/gateway/connections-report.ts";
import { mergedReport } from "../push/connections-report.ts";
import type { WorkerContext } from "./app-context.ts";

/** Reports about the connections of all workers. */
export function workerReports({ link, node }: WorkerContext, maxConnections: number): InstanceReports {
  return {
    async onlineUsers() {
      const { answers } = await link.call("askAll", { question: { about: "online" } });
      return [...new Set((answers as string[][]).flat())];
    },
    async connections(userId) {
      const { answers, names, published } = await link.call("askAll", {
        question: { about: "connections", userId },
      });
      return mergedReport(answers as ConnectionsReport[], { node, maxConnections }, { ...names, published });
    },
  };
}
