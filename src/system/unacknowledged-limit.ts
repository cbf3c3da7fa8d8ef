import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { openCLibrary } from "./c-library.ts";

const levels = { socket: 1, tcp: 6 };
const options = { isListening: 30, userTimeout: 18 };

/** Sets the limit of the socket that listens on a port; false: there is none. */
export type LimitUnacknowledged = (port: number, limitMs: number) => boolean;

/**
 * The system then ends a connection whose peer has acknowledged no byte for this long, instead of repeating the bytes for a
 * quarter of an hour. Accepted connections have the limit of the listening socket, and the runtime offers no way to set it.
 */
export async function openUnacknowledgedLimit(): Promise<LimitUnacknowledged> {
  const { symbols } = await openCLibrary({
    getsockopt: { args: ["i32", "i32", "i32", "buffer", "buffer"], returns: "i32" },
    setsockopt: { args: ["i32", "i32", "i32", "buffer", "u32"], returns: "i32" },
    getsockname: { args: ["i32", "buffer", "buffer"], returns: "i32" },
  });

  function isListeningOn(file: number, port: number): boolean {
    const value = new Uint32Array(1);
    const { socket } = levels;
    const isRead = symbols.getsockopt(file, socket, options.isListening, value, Uint32Array.of(4)) === 0;
    if (!isRead || value[0] !== 1) return false;
    const address = Buffer.alloc(128);
    if (symbols.getsockname(file, address, Uint32Array.of(address.length)) !== 0) return false;
    // Of IPv4 and IPv6 alike: the family, then the port in the order of the network.
    return address.readUInt16BE(2) === port;
  }

  return (port, limitMs) => {
    const limit = Uint32Array.of(limitMs);
    return openSockets()
      .filter((file) => isListeningOn(file, port))
      .some((file) => symbols.setsockopt(file, levels.tcp, options.userTimeout, limit, 4) === 0);
  };
}

function openSockets(): number[] {
  const folder = "/proc/self/fd";
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => {
      try {
        return readlinkSync(`${folder}/${file}`).startsWith("socket:");
      } catch {
        // It was closed meanwhile.
        return false;
      }
    })
    .map(Number);
}
