import { existsSync, readdirSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createZstdCompress, createZstdDecompress } from "node:zlib";
import { ReasonError, thrownReason } from "../../errors.ts";
import { newReason } from "../../reason/reason.ts";
import { transferBeatMs, transferPartBytes } from "../protocol.ts";
import { spawnTar } from "../service/tar.ts";
import type { Room } from "../workspace/project-disk.ts";
import { archiveCheck } from "./archive-check.ts";

/** Data keeps its owners, by their names. The files of a release belong to whom the runner gives them. */
export interface PackOptions {
  keepsOwners: boolean;
}

export interface UnpackOptions extends PackOptions {
  /** For the unpacked files: a small archive may have large ones. */
  room: Room;
}

/** The same files make the same archive. Setuid bits stay behind. */
const createArguments = ["--create", "--format=gnu", "--sort=name", "--mode=u-s,g-s", "--file", "-"];

/**
 * Sends the contents of a folder as tar and zstd, part by part, each after the one before it has arrived. A folder that does not
 * exist is empty. Throws if a file was changed meanwhile. Returns the number of parts.
 */
export async function packFolder(
  folder: string,
  { keepsOwners }: PackOptions,
  send: (part: Uint8Array, index: number) => Promise<void>,
): Promise<number> {
  const isThere = existsSync(folder);
  const names = isThere ? readdirSync(folder).toSorted() : [];
  const owners = keepsOwners ? [] : ["--numeric-owner", "--owner=0", "--group=0"];
  const place = [
    "--directory",
    isThere ? folder : "/",
    "--null",
    "--verbatim-files-from",
    "--files-from",
    "-",
  ];
  const tar = spawnTar([...createArguments, ...owners, ...place]);
  tar.child.stdin.end(names.map((name) => `./${name}\0`).join(""));
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } });
  const compressing = pipeline(tar.child.stdout, compress);
  let parts = 0;
  try {
    await tar.started;
    for await (const part of inParts(compress)) {
      await send(part, parts);
      parts += 1;
    }
    await compressing;
    const { code, said } = await tar.ended;
    if (code !== 0) throw new ReasonError(newReason("transfer_unreadable", { said: said || `tar: ${code}` }));
    return parts;
  } catch (error) {
    tar.child.kill("SIGKILL");
    await Promise.allSettled([compressing, tar.ended]);
    throw error;
  }
}

/** Parts of one size. What is there is sent after a while, also nothing, so that the server knows that this goes on. */
async function* inParts(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const chunks = stream[Symbol.asyncIterator]();
  let held: Uint8Array[] = [];
  let bytes = 0;
  let next = chunks.next();
  for (;;) {
    const late = Promise.withResolvers<"late">();
    const timer = setTimeout(() => late.resolve("late"), transferBeatMs);
    const got = await Promise.race([next, late.promise]).finally(() => clearTimeout(timer));
    const isOver = got !== "late" && got.done === true;
    if (got !== "late" && !isOver) {
      held.push(got.value);
      bytes += got.value.byteLength;
      next = chunks.next();
    }
    if (bytes >= transferPartBytes || got === "late" || (isOver && bytes > 0)) {
      const whole = Buffer.concat(held);
      [held, bytes] = [[], 0];
      for (let at = 0; at < Math.max(whole.byteLength, 1); at += transferPartBytes)
        yield whole.subarray(at, at + transferPartBytes);
    }
    if (isOver) return;
  }
}

/**
 * Unpacks parts into an empty folder. What `archiveCheck` refuses is not unpacked. Throws a ReasonError with the sentence for
 * people.
 */
export async function unpackInto(
  folder: string,
  parts: AsyncIterable<Uint8Array>,
  { keepsOwners, room }: UnpackOptions,
): Promise<void> {
  const check = archiveCheck();
  let bytes = 0;
  const owners = keepsOwners ? "--same-owner" : "--no-same-owner";
  const tar = spawnTar(["--extract", owners, "--preserve-permissions", "--file", "-", "--directory", folder]);
  const decompress = createZstdDecompress();
  async function feed(): Promise<void> {
    for await (const chunk of decompress) {
      bytes += chunk.byteLength;
      if (bytes > room.bytes) throw new ReasonError(room.reason);
      check.look(chunk);
      await tar.write(chunk);
    }
    check.end();
    tar.child.stdin.end();
  }
  const feeding = feed().catch((error: unknown) => {
    tar.child.kill("SIGKILL");
    decompress.destroy();
    throw error;
  });
  const results = await Promise.allSettled([
    feeding,
    pipeline(Readable.from(parts), decompress),
    tar.started,
  ]);
  const unpacked = results.find(({ status }) => status === "rejected") ?? { status: "fulfilled" as const };
  tar.child.stdin.destroy();
  const { code, said } = await tar.ended;
  if (/No space left|Disk quota/.test(said))
    throw new ReasonError(newReason("transfer_disk_full", { folder }));
  if (unpacked.status === "rejected" && unpacked.reason instanceof ReasonError) throw unpacked.reason;
  // A tar that has failed closes its input, which is the consequence and not the reason.
  if (code !== 0 && said !== "") throw new ReasonError(newReason("transfer_not_unpacked", { said }));
  if (unpacked.status === "rejected")
    throw new ReasonError(newReason("transfer_damaged", { why: thrownReason(unpacked.reason) }));
}
