import { newReason, type Reason } from "../../reason/reason.ts";
import { holdersOf, listeningSockets } from "../keeper/port-holders.ts";

/** Why a proxy could not listen, from what it says; null: it says nothing of a port. */
export function portFault(said: string, ports: number[]): Reason | null {
  // A file can be denied too.
  const isDenied = said.includes("bind: permission denied");
  const isTaken = said.includes("bind: address already in use");
  if (!isDenied && !isTaken) return null;
  const named = ports.find((port) => said.includes(`:${port}`)) ?? ports[0] ?? 0;
  if (isDenied) return newReason("proxy_port_denied", { port: named });
  const [holder] = holdersOf(listeningSockets(named));
  return holder === undefined
    ? newReason("proxy_port_taken_user", { port: named })
    : newReason("proxy_port_taken", { port: named, name: holder.name, pid: holder.pid });
}
