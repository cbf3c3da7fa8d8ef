import { readFileSync } from "node:fs";
import { Fault } from "../errors.ts";
import { hostAndPort, type ListenAddress } from "../listen-address.ts";

/** Ends with its process, also with kill -9. */
export interface PortLock {
  release(): void;
}

const everyAddress = new Set(["0.0.0.0", "::", ""]);

/**
 * An abstract Unix socket per address and port: workers share their port, so that the kernel would admit a second
 * instance to it. The kernel keeps these names per network namespace, as it does ports.
 */
const namePrefix = "slipway-listens-on-";

function nameOf({ host, port }: ListenAddress): string {
  return `${namePrefix}${everyAddress.has(host) ? "*" : host}#${port}`;
}

export function takePortLock(address: ListenAddress): PortLock {
  const name = nameOf(address);
  try {
    const listener = Bun.listen({
      unix: `\0${name}`,
      socket: {
        open(socket) {
          socket.end();
        },
        data() {},
      },
    });
    if (overlaps(address)) {
      listener.stop(true);
      throw portTaken(address);
    }
    listener.unref();
    return { release: () => listener.stop(true) };
  } catch (error) {
    const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
    throw isTaken ? portTaken(address) : error;
  }
}

/** Workers that are just being restarted do not listen, and the port would seem free. */
export async function refuseLockedPort(address: ListenAddress): Promise<void> {
  const names = new Set([nameOf(address), nameOf({ host: "", port: address.port })]);
  for (const name of names) if (await isHeld(name)) throw portTaken(address);
}

async function isHeld(name: string): Promise<boolean> {
  try {
    const socket = await Bun.connect({ unix: `\0${name}`, socket: { data() {} } });
    socket.end();
    return true;
  } catch (error) {
    // The holder closes each connection, maybe before this process has noticed that it was opened.
    return error instanceof Error && "code" in error && error.code === "ECONNRESET";
  }
}

/** Looks after the own name was taken, so that of two processes that start together at least one sees the other. */
function overlaps({ host, port }: ListenAddress): boolean {
  const own = nameOf({ host, port });
  const held = readFileSync("/proc/net/unix", "utf8").matchAll(/ @(slipway-listens-on-\S+)$/gm);
  return [...held].some(
    ([, name = ""]) =>
      name !== own &&
      name.endsWith(`#${port}`) &&
      (everyAddress.has(host) || name === nameOf({ host: "", port })),
  );
}

function portTaken({ host, port }: ListenAddress): Fault {
  return new Fault(
    "conflict",
    `Another program listens on ${hostAndPort(host, port)}: a \`slipway push\` with several workers. Stop it, or let Slipway ` +
      `listen elsewhere: PORT=${port + 1}, or server.listen in slipway.yaml.`,
  );
}
