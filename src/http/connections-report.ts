import type { Gateway } from "../push/gateway.ts";

const maxChannelsListed = 1000;

/** `GET /feign/connections`: counts by kind, channels, buffers; with `?userId=` that user's connections too. */
export function connectionsReport(gateway: Gateway, userId: string | null) {
  const { connections, sendBuffers, admission, drain, node } = gateway;
  const channels = [...connections.channels]
    .map(([name, members]) => ({ name, members }))
    .sort((a, b) => b.members - a.members || a.name.localeCompare(b.name));
  return {
    node,
    total: connections.size,
    normal: connections.normal,
    temporary: connections.temporary,
    users: connections.users,
    published: gateway.published,
    maxConnections: admission.maxConnections,
    verifying: admission.pending,
    isDraining: drain.isDraining,
    buffers: { bufferedBytes: sendBuffers.bufferedBytes, lagging: sendBuffers.lagging },
    channelCount: channels.length,
    channels: channels.slice(0, maxChannelsListed),
    ...(userId === null ? {} : { connections: connectionsOf(gateway, userId) }),
  };
}

function connectionsOf(gateway: Gateway, userId: string) {
  const timeOf = (steadyMs: number) => new Date(gateway.wallTimeOf(steadyMs)).toISOString();
  return gateway.connections.ofUser(userId).map((socket) => {
    const { id, kind, isV1, channels, openedAtMs, endsAtMs } = socket.data;
    return {
      connectionId: id,
      userId,
      kind,
      protocol: isV1 ? "slipway.v1" : "raw",
      channels: [...(channels ?? [])],
      address: socket.remoteAddress,
      openedAt: timeOf(openedAtMs),
      endsAt: endsAtMs > 0 ? timeOf(endsAtMs) : null,
      bufferedBytes: socket.getBufferedAmount(),
    };
  });
}
