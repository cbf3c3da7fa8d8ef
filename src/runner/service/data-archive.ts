import { createReadStream, createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { constants, createZstdCompress, createZstdDecompress } from "node:zlib";
import { Fault, messageOf } from "../../errors.ts";
import { spawnTar } from "./tar.ts";

/**
 * The last bytes of an archive: a frame that every zstd program skips, with the length of what is before it. The decompressor of
 * the runtime does not notice that the end of a file is missing, and neither does tar if it is missing between two files.
 */
const endMark = Buffer.from("slipway.");
const skippedFrame = 0x184d2a5e;
const endBytes = 8 + endMark.length + 8;

function endFrame(length: number): Buffer {
  const frame = Buffer.alloc(endBytes);
  frame.writeUInt32LE(skippedFrame, 0);
  frame.writeUInt32LE(endBytes - 8, 4);
  endMark.copy(frame, 8);
  frame.writeBigUInt64LE(BigInt(length), 8 + endMark.length);
  return frame;
}

/** A folder as tar and zstd, in a new file that only its owner may read. Returns what changed while it was read; empty: nothing. */
export async function writeArchive(folder: string, file: string): Promise<string> {
  const handle = await open(file, "wx", 0o600);
  try {
    const tar = spawnTar(["--create", "--sparse", "--file", "-", "--directory", folder, "."]);
    const compress = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } });
    const output = createWriteStream(file, { fd: handle.fd, autoClose: false });
    await Promise.all([pipeline(tar.child.stdout, compress, output), tar.started]);
    const { code, said } = await tar.ended;
    // 1: a file was changed or removed while tar read it.
    if (code !== 0 && code !== 1) throw new Fault("conflict", `tar could not read ${folder}: ${said}`);
    const { size } = await handle.stat();
    await handle.write(endFrame(size), 0, endBytes, size);
    await handle.sync();
    return code === 0 ? "" : said;
  } finally {
    await handle.close();
  }
}

/** Unpacks an archive into an empty folder. Owners are those of the archive, if this user may set them. */
export async function readArchive(file: string, folder: string): Promise<void> {
  const length = await lengthOf(file);
  const tar = spawnTar(["--extract", "--preserve-permissions", "--file", "-", "--directory", folder]);
  const unpacking = pipeline(
    createReadStream(file, { end: length - 1 }),
    createZstdDecompress(),
    tar.child.stdin,
  );
  const [packed] = await Promise.allSettled([unpacking, tar.started]);
  tar.child.stdin.destroy();
  const { code, said } = await tar.ended;
  // A tar that has failed closes its input, which is the consequence and not the reason.
  if (code !== 0 && said !== "") throw new Fault("conflict", `tar could not restore ${file}: ${said}`);
  if (packed.status === "rejected")
    throw new Fault("conflict", `${file} is damaged: ${messageOf(packed.reason)}`);
  if (code !== 0) throw new Fault("conflict", `tar could not restore ${file}: it ended with ${code}`);
}

/** Without the last frame. Throws a Fault if it is not there. */
async function lengthOf(file: string): Promise<number> {
  const handle = await open(file, "r").catch((cause: unknown) => {
    throw new Fault("invalid", `The backup cannot be read: ${messageOf(cause)}`, { cause });
  });
  try {
    const { size } = await handle.stat();
    const length = size - endBytes;
    const { buffer } = await handle.read(Buffer.alloc(endBytes), 0, endBytes, Math.max(0, length));
    if (length > 0 && buffer.equals(endFrame(length))) return length;
    throw new Fault("invalid", `${file} is not a complete backup of \`slipway service backup\`.`);
  } finally {
    await handle.close();
  }
}
