import {
  closeSync,
  constants,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault } from "../errors.ts";
import { hostAndPort, type ListenAddress } from "../listen-address.ts";
import { randomToken } from "../secrets.ts";
import { openCLibrary } from "../system/c-library.ts";

/**
 * Workers share their port, so that the kernel would admit a second instance of the same user to it. The lock is an
 * operating-system lock on a folder that only this user can enter: others can neither hold nor see it, and it ends with
 * its process, also with kill -9.
 */
export interface PortLock {
  /** With mode 0700; removed with the lock. */
  folder: string;
  release(): void;
}

const lockShared = 1;
const lockExclusive = 2;
const lockAtOnce = 4;

const everyAddress = new Set(["0.0.0.0", "::", ""]);
const anyHost = "any";

export async function takePortLock(address: ListenAddress): Promise<PortLock> {
  const { symbols, close } = await openFlock();
  // It gets its name when it is locked: a folder of that name that is not locked was left by a killed process.
  const made = mkdtempSync(join(tmpdir(), "slipway-new-"));
  const file = openSync(made, constants.O_RDONLY);
  const folder = join(tmpdir(), `${prefixOf(address)}${randomToken(6, "hex")}`);
  let isReleased = false;
  const release = () => {
    if (isReleased) return;
    isReleased = true;
    rmSync(folder, { recursive: true, force: true });
    closeSync(file);
    close();
  };
  symbols.flock(file, lockExclusive);
  renameSync(made, folder);
  // After the own lock is visible, so that of two processes that start together at least one sees the other.
  for (const other of foldersThatOverlap(address)) {
    if (other === folder) continue;
    if (isLocked(other, symbols.flock)) {
      release();
      throw portTaken(address);
    }
    rmSync(other, { recursive: true, force: true });
  }
  return { folder, release };
}

/** Workers that are just being restarted do not listen, and the port would seem free. */
export async function refuseLockedPort(address: ListenAddress): Promise<void> {
  if (process.platform !== "linux") return;
  const overlapping = foldersThatOverlap(address);
  if (overlapping.length === 0) return;
  const { symbols, close } = await openFlock();
  const isTaken = overlapping.some((folder) => isLocked(folder, symbols.flock));
  close();
  if (isTaken) throw portTaken(address);
}

function openFlock() {
  return openCLibrary({ flock: { args: ["i32", "i32"], returns: "i32" } });
}

function isLocked(folder: string, flock: (file: number, operation: number) => number): boolean {
  let file: number;
  try {
    file = openSync(folder, constants.O_RDONLY);
  } catch {
    // Its process has just ended.
    return false;
  }
  try {
    return flock(file, lockShared | lockAtOnce) !== 0;
  } finally {
    closeSync(file);
  }
}

/** The folders of this user for the same port, and for the same or every address. */
function foldersThatOverlap({ host, port }: ListenAddress): string[] {
  const own = hostName(host);
  return readdirSync(tmpdir())
    .filter((name) => {
      const [, other, itsPort, network] = /^slipway-([\w.]+)-(\d+)-(\w+)-\w+$/.exec(name) ?? [];
      if (Number(itsPort) !== port || network !== networkOf()) return false;
      return other === own || other === anyHost || own === anyHost;
    })
    .map((name) => join(tmpdir(), name))
    .filter(isOwn);
}

function prefixOf({ host, port }: ListenAddress): string {
  return `slipway-${hostName(host)}-${port}-${networkOf()}-`;
}

function hostName(host: string): string {
  return everyAddress.has(host) ? anyHost : host.replaceAll(/[^\w.]/g, "_");
}

/** Each network namespace has ports of its own. */
function networkOf(): string {
  try {
    return readlinkSync("/proc/self/ns/net").replaceAll(/\D/g, "") || "0";
  } catch {
    return "0";
  }
}

function isOwn(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.getuid?.();
}

function portTaken({ host, port }: ListenAddress): Fault {
  return new Fault(
    "conflict",
    `Another program listens on ${hostAndPort(host, port)}: a \`slipway push\` with several workers. Stop it, or let Slipway ` +
      `listen elsewhere: PORT=${port + 1}, or server.listen in slipway.yaml.`,
  );
}
