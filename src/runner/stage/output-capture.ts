import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync } from "node:fs";
import { messageOf } from "../../errors.ts";
import type { StepOutput } from "../log/log-stream.ts";

/** A file, and the folder that it must be in: a link in a repository must not lead the runner outside. */
export interface CapturedFile {
  path: string;
  inside: string;
}

const headMaxBytes = 64 * 1024;
const tailMaxBytes = 4 * 1024;
const readMaxBytes = 64 * 1024;
/** Of more new output than this, only the end is read, so that a service that prints much does not fill the memory. */
const newMaxBytes = 16 * 1024 * 1024;
const lastLinesMax = 12;
const lastLinesMaxLength = 1200;
const pollEveryMs = 100;

/** Follows the files that a starting service writes to, from the current end of each file. */
export function openCapture(files: CapturedFile[], newOutput: () => StepOutput) {
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  const followed = files.map((file) => ({ file, offset: sizeOf(file), output: newOutput(), fault: "" }));
  let isLogged = true;

  /** Also called by a timer, where an error would end the runner with all its tasks. */
  function read(): void {
    for (const one of followed) {
      try {
        readNew(one);
      } catch (error) {
        const fault = messageOf(error);
        if (isLogged && fault !== one.fault)
          one.output.write(Buffer.from(`[${one.file.path} could not be read: ${fault}]\n`));
        one.fault = fault;
      }
    }
  }

  function readNew(one: (typeof followed)[number]): void {
    for (const chunk of chunksFrom(one.file, one.offset)) {
      one.offset = chunk.end;
      if (head.length < headMaxBytes) head = Buffer.concat([head, chunk.bytes]).subarray(0, headMaxBytes);
      tail = Buffer.concat([tail, chunk.bytes]).subarray(-tailMaxBytes);
      if (isLogged) one.output.write(chunk.bytes);
    }
  }

  function leaveLog(): void {
    if (!isLogged) return;
    read();
    isLogged = false;
    for (const { output } of followed) output.end();
  }

  const timer = setInterval(read, pollEveryMs);
  return {
    /** Reads the new output. */
    read,
    /** From now on, no more lines go to the task's log. */
    leaveLog,
    /** The output so far, up to `headMaxBytes`. */
    head: () => head.toString("utf8"),
    /** The end of the output, for a reason. */
    lastLines(): string {
      const lines = tail.toString("utf8").split("\n");
      const last = lines.filter((line) => line.trim() !== "").slice(-lastLinesMax);
      return last.join("\n").slice(-lastLinesMaxLength);
    },
    close(): void {
      clearInterval(timer);
      leaveLog();
    },
  };
}
export type OutputCapture = ReturnType<typeof openCapture>;

function sizeOf(file: CapturedFile): number {
  return withFile(file, (descriptor) => fstatSync(descriptor).size) ?? 0;
}

function chunksFrom(file: CapturedFile, offset: number): { bytes: Buffer; end: number }[] {
  return (
    withFile(file, (descriptor) => {
      const { size } = fstatSync(descriptor);
      // Shorter than before: the file was rewritten.
      let at = size < offset ? 0 : Math.max(offset, size - newMaxBytes);
      const chunks: { bytes: Buffer; end: number }[] = [];
      while (at < size) {
        const bytes = Buffer.alloc(Math.min(readMaxBytes, size - at));
        const count = readSync(descriptor, bytes, 0, bytes.length, at);
        if (count === 0) break;
        at += count;
        chunks.push({ bytes: bytes.subarray(0, count), end: at });
      }
      return chunks;
    }) ?? []
  );
}

/** Opened for each read: the service may replace the file. Null: there is no such file, or it is outside the folder. */
function withFile<T>({ path, inside }: CapturedFile, use: (descriptor: number) => T): T | null {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return null;
  }
  try {
    return fstatSync(descriptor).isFile() && isInside(descriptor, inside) ? use(descriptor) : null;
  } finally {
    closeSync(descriptor);
  }
}

/** Checked on the open file, so that a link that changes meanwhile has no effect. */
function isInside(descriptor: number, folder: string): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(`${folder}/`);
  } catch {
    return false;
  }
}
