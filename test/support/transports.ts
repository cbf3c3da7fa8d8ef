import { PushClient } from "./push-client.ts";
import { RawSocket } from "./raw-socket.ts";
import { RawStream } from "./raw-stream.ts";
import { StreamClient } from "./stream-client.ts";

/** The ways to connect to a gateway; what is promised of one is promised of the other. */
export const transports = ["/ws", "/sse"] as const;
export type TransportPath = (typeof transports)[number];
export type FrameClient = PushClient | StreamClient;

/** Opens a connection that speaks `slipway.v1`; `url` is the address of the gateway. */
export function openV1(
  transport: TransportPath,
  url: string,
  query: string,
  headers: Record<string, string> = {},
): Promise<FrameClient> {
  const address = `${url}${transport}?${query}`;
  if (transport === "/sse") return StreamClient.open(address, headers);
  return PushClient.open(address.replace(/^http/, "ws"), ["slipway.v1"], headers);
}

/** Opens a connection whose frames are the data of the messages alone. */
export function openPlain(
  transport: TransportPath,
  url: string,
  query: string,
  headers: Record<string, string> = {},
): Promise<FrameClient> {
  const address = `${url}${transport}${query}`;
  if (transport === "/sse") return StreamClient.open(address, headers, true);
  return PushClient.open(address.replace(/^http/, "ws"), [], headers);
}

export function rawClient(transport: TransportPath, port: number): RawSocket {
  return transport === "/sse" ? new RawStream(port) : new RawSocket(port);
}
