import { chmodSync, lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ListenAddress } from "../../listen-address.ts";

/** The folder of the workers' socket, which no other user can enter. */
export interface SocketFolder {
  socket: string;
  /** Call once the socket exists. */
  protect(): void;
  remove(): void;
}

/** The caller holds the lock of the address, so that folders of earlier processes with the same address are unused. */
export function createSocketFolder({ host, port }: ListenAddress): SocketFolder {
  const prefix = `slipway-${host.replaceAll(/[^\w.]/g, "_")}-${port}-`;
  for (const name of readdirSync(tmpdir()))
    if (name.startsWith(prefix) && isOwn(join(tmpdir(), name)))
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
  // With mode 0700.
  const folder = mkdtempSync(join(tmpdir(), prefix));
  const socket = join(folder, "workers.sock");
  return {
    socket,
    protect: () => chmodSync(socket, 0o600),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function isOwn(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.getuid?.();
}
