import { Fault } from "../errors.ts";
import { isObject, parseJson } from "../json.ts";
import { deployServiceHeader } from "../model/console/console-names.ts";
import type { ConnectionsReport } from "../model/gateway/connections-report.ts";
import type { MessageReport } from "../model/gateway/message-report.ts";
import { connectionsReport } from "../push/connections-report.ts";
import type { Gateway } from "../push/gateway.ts";
import { publishedOf } from "../push/message/counters.ts";
import type { PublishRequest } from "../push/message/publish-request.ts";
import { traceReport, withContents } from "../push/trace-report.ts";
import { newReason } from "../reason/reason.ts";
import type { GatewayFigures } from "./gateway-history.ts";

/** Calls of the management API to the push gateway, in this process or in another one. */
export interface GatewayCalls {
  /** `receivers` is null in cluster mode, where no instance knows the number. */
  publish(request: PublishRequest): Promise<{ id: string; receivers: number | null }>;
  /** Returns how many connections of the gateway's instance are affected. */
  disconnect(selector: { userId: string } | { connectionId: string }, closeCode?: number): Promise<number>;
  connections(userId: string | null): Promise<ConnectionsReport>;
  messages(userId: string): Promise<MessageReport>;
  online(): Promise<string[]>;
  /** Without the lists of `connections`, which cost more. */
  figures(): Promise<GatewayFigures>;
  /** Replaces the grants of the user's open connections; they leave all other channels. */
  grant(userId: string, channels: string[]): Promise<void>;
}

/** `name` stays the same when the process restarts. */
export function localGateway(gateway: Gateway, name: string): GatewayCalls {
  return {
    publish: async (request) => gateway.publisher.publish(request),
    disconnect: (selector, closeCode) => gateway.control.disconnect(selector, closeCode),
    connections: async (userId) => connectionsReport(gateway, userId),
    async messages(userId) {
      if (!gateway.trace.isOn) throw new Fault("conflict", newReason("trace_off"));
      const report = traceReport(await gateway.control.askMessages({ userId }));
      return { ...report, messages: withContents(report.messages, gateway.trace) };
    },
    online: async () => gateway.connections.onlineUsers(),
    figures: async () => ({
      gateway: gateway.isCluster ? gateway.node : name,
      isCluster: gateway.isCluster,
      connections: gateway.connections.size - gateway.connections.console,
      published: publishedOf(gateway.counters),
    }),
    grant: async (userId, channels) => void (await gateway.control.grant(userId, channels)),
  };
}

const timeoutMs = 5000;

/** Calls the `/feign` interface of a push role in another process. */
export function remoteGateway(
  options: { url: string; apiKey: string | undefined },
  send = fetch,
): GatewayCalls {
  const base = options.url.replace(/\/+$/, "");
  const authorization = options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` };

  async function call(method: "GET" | "POST", path: string, body?: unknown) {
    const response = await send(`${base}/feign/${path}`, {
      method,
      headers: {
        ...deployServiceHeader,
        ...authorization,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    }).catch((cause: unknown) => {
      throw new Fault("unavailable", "The push gateway at deploy.push.url does not answer.", { cause });
    });
    const parsed = parseJson(await response.text().catch(() => ""));
    const answer: { data?: unknown; message?: string } = isObject(parsed) ? parsed : {};
    if (response.ok) return { data: answer.data, headers: response.headers };
    const text = answer.message ?? `it answered ${response.status}`;
    if (response.status === 413) throw new Fault("too_large", text);
    if (response.status === 400) throw new Fault("invalid", text);
    if (response.status === 404) throw new Fault("conflict", text);
    throw new Fault("unavailable", `The push gateway at deploy.push.url refused: ${text}`);
  }

  return {
    async publish(request) {
      const { headers } = await call("POST", "publish", request);
      const receivers = headers.get("x-push-receivers");
      return { id: headers.get("x-push-id") ?? "", receivers: receivers === null ? null : Number(receivers) };
    },
    async disconnect(selector, code) {
      const { headers } = await call(
        "POST",
        "disconnect",
        code === undefined ? selector : { ...selector, code },
      );
      return Number(headers.get("x-push-connections"));
    },
    async connections(userId) {
      const query = userId === null ? "" : `?userId=${encodeURIComponent(userId)}`;
      return (await call("GET", `connections${query}`)).data as ConnectionsReport;
    },
    messages: async (userId) => {
      const { data } = await call("GET", `messages?user=${encodeURIComponent(userId)}`);
      // A gateway of version 1.0 reports neither refused tokens nor the user.
      return { refusedTokens: [], user: null, ...(data as Omit<MessageReport, "refusedTokens" | "user">) };
    },
    online: async () => (await call("GET", "getOnlineUsers")).data as string[],
    async figures() {
      const report = (await call("GET", "connections")).data as ConnectionsReport;
      const { node, isCluster, total, console: own, published } = report;
      // Only in a cluster a gateway has the same name after a restart.
      return { gateway: isCluster ? node : base, isCluster, connections: total - own, published };
    },
    async grant(userId, channels) {
      await call("POST", "channels/grant", { userId, channels });
    },
  };
}

/** For a deploy service without a push gateway. */
export const noGateway: GatewayCalls = {
  publish: async () => missing(),
  disconnect: async () => missing(),
  connections: async () => missing(),
  messages: async () => missing(),
  online: async () => missing(),
  figures: async () => missing(),
  grant: async () => missing(),
};

function missing(): never {
  throw new Fault("conflict", newReason("no_gateway"));
}
