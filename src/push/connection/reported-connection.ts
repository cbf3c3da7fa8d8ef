import type { ReportedConnection } from "../../model/gateway/connections-report.ts";
import { endOf } from "./connection.ts";
import type { Connections } from "./connections.ts";

/** The open connections of a user in this process. */
export function connectionsOfUser(
  { connections, wallTimeOf }: { connections: Connections; wallTimeOf(steadyMs: number): number },
  userId: string,
): ReportedConnection[] {
  const timeOf = (steadyMs: number) => new Date(wallTimeOf(steadyMs)).toISOString();
  return connections.ofUser(userId).map((socket) => {
    const { id, kind, isV1, channels, openedAtMs } = socket.data;
    return {
      connectionId: id,
      userId,
      kind,
      protocol: isV1 ? "slipway.v1" : "raw",
      channels: [...(channels ?? [])],
      address: socket.remoteAddress,
      openedAt: timeOf(openedAtMs),
      endsAt: endOf(socket.data) > 0 ? timeOf(endOf(socket.data)) : null,
      bufferedBytes: socket.getBufferedAmount(),
    };
  });
}
