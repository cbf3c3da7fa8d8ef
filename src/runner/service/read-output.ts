import { type FileHandle, open } from "node:fs/promises";
import { pause } from "../../clock.ts";
import { messageOf } from "../../errors.ts";
import { storableText } from "../../storable-text.ts";
import type { Masker } from "../log/masker.ts";
import type { OutputTextRequest, WantedOutput } from "../protocol.ts";
import type { ServiceOutput } from "./service-output.ts";

/** The output of one instance, and how it is masked. */
export interface OutputPart {
  output: ServiceOutput;
  masker: Masker;
  /** A last line without an end may still grow. */
  isGrowing: boolean;
}

type Line = OutputTextRequest["lines"][number];

const chunkBytes = 64 * 1024;
const lineMaxLength = 16_000;
/** More of a line than is shown, so that a secret at the end of what is shown is found. */
const lineMaxBytes = 128 * 1024;
const answerMaxLength = 512 * 1024;
/** A search ends after this much, and the next call continues. */
const scanMaxBytes = 16 * 1024 * 1024;
const lookEveryMs = 200;
const newline = 0x0a;

/** A part of the output of a service. Reads whole lines only: the end of a secret is not recognised without its beginning. */
export async function readOutput(
  parts: OutputPart[],
  wanted: WantedOutput,
  stop: AbortSignal,
): Promise<OutputTextRequest> {
  const endsAt = performance.now() + wanted.waitMs;
  for (;;) {
    for (const { output } of parts) output.look();
    const found = await readNow(parts, wanted).catch((error: unknown) => faultOf(parts, wanted, error));
    const isDone = found.lines.length > 0 || found.fault !== undefined || wanted.direction === "backward";
    if (isDone || stop.aborted || performance.now() >= endsAt) return found;
    await pause(lookEveryMs, stop);
  }
}

function faultOf(parts: OutputPart[], { id, position }: WantedOutput, error: unknown): OutputTextRequest {
  return { id, lines: [], next: position ?? 0, ...rangeOf(parts), marks: [], fault: messageOf(error) };
}

function rangeOf(parts: OutputPart[]): { from: number; to: number } {
  return { from: parts[0]?.output.from() ?? 0, to: parts.at(-1)?.output.to() ?? 0 };
}

async function readNow(parts: OutputPart[], wanted: WantedOutput): Promise<OutputTextRequest> {
  const { from, to } = rangeOf(parts);
  const isForward = wanted.direction === "forward";
  const asked = wanted.position ?? (isForward ? from : to);
  const begin = Math.min(Math.max(asked, from), to);
  const search = wanted.search.toLowerCase();
  const lines: Line[] = [];
  let next = begin;
  let length = 0;
  let left = scanMaxBytes;
  /** False: the answer is full. */
  const take = (line: Line, after: number): boolean => {
    left -= Math.abs(after - next);
    next = after;
    if (line.text.toLowerCase().includes(search)) {
      lines.push(line);
      length += line.text.length;
    }
    return lines.length < wanted.maxLines && length < answerMaxLength && left > 0;
  };
  for (const part of isForward ? parts : parts.toReversed()) {
    const { output } = part;
    if (isForward ? output.to() <= next && part !== parts.at(-1) : output.from() >= next) continue;
    const handle = await open(output.file, "r");
    try {
      const isGoing = isForward
        ? await forward(handle, part, Math.max(next, output.from()), take)
        : await backward(handle, part, Math.min(next, output.to()), take);
      if (!isGoing) break;
    } finally {
      await handle.close();
    }
  }
  if (!isForward) lines.reverse();
  const [low, high] = isForward ? [begin, next] : [next, begin];
  const marks = parts.flatMap(({ output }) =>
    output.marks().filter(({ position }) => position >= low && position <= high),
  );
  return { id: wanted.id, lines, next, from, to, marks };
}

type Take = (line: Line, after: number) => boolean;

/** Calls `take` for each line from this position on; `after` is the position behind the line. */
async function forward(handle: FileHandle, part: OutputPart, from: number, take: Take): Promise<boolean> {
  const { output } = part;
  const base = output.base();
  const end = output.to() - base;
  let at = await lineStart(handle, output, from - base, end);
  let kept: Buffer[] = [];
  let keptBytes = 0;
  let start = at;
  const keep = (piece: Buffer) => {
    if (keptBytes < lineMaxBytes) kept.push(Buffer.from(piece.subarray(0, lineMaxBytes - keptBytes)));
    keptBytes += piece.length;
  };
  const finish = (isWhole: boolean): Line => {
    const text = textOf(Buffer.concat(kept), keptBytes, part.masker, isWhole);
    const line = { position: base + start, text };
    kept = [];
    keptBytes = 0;
    return line;
  };
  while (at < end) {
    const chunk = await readAt(handle, at, Math.min(chunkBytes, end - at));
    if (chunk.length === 0) break;
    for (let piece = 0; piece < chunk.length; ) {
      const found = chunk.indexOf(newline, piece);
      const stop = found < 0 ? chunk.length : found;
      keep(chunk.subarray(piece, stop));
      if (found < 0) break;
      piece = found + 1;
      if (!take(finish(true), base + at + piece)) return false;
      start = at + piece;
    }
    at += chunk.length;
  }
  if (keptBytes > 0 && !part.isGrowing) return take(finish(true), base + end);
  return true;
}

/** The same for each line before this position, the last one first; `after` is the position of the line. */
async function backward(handle: FileHandle, part: OutputPart, to: number, take: Take): Promise<boolean> {
  const { output } = part;
  const base = output.base();
  const first = output.from() - base;
  let end = to - base;
  /** The beginning of what is known of the line that ends at the last line end that was found. */
  let carry = Buffer.alloc(0);
  let carryBytes = 0;
  // A piece without a line end: the position is in a line, or the last line may still grow.
  let isPiece =
    end > first &&
    (end < output.to() - base || part.isGrowing) &&
    (await readAt(handle, end - 1, 1))[0] !== newline;
  let isFirst = true;
  const give = (piece: Buffer, offset: number): boolean => {
    const bytes = Buffer.concat([piece, carry]).subarray(0, lineMaxBytes);
    const line = {
      position: base + offset,
      text: textOf(bytes, piece.length + carryBytes, part.masker, true),
    };
    carry = Buffer.alloc(0);
    carryBytes = 0;
    if (isPiece) {
      isPiece = false;
      return true;
    }
    return take(line, base + offset);
  };
  while (end > first) {
    const begin = Math.max(first, end - chunkBytes);
    const chunk = await readAt(handle, begin, end - begin);
    let stop = chunk.length;
    // The end of the last line is not the end of another one.
    if (isFirst && chunk[stop - 1] === newline) stop -= 1;
    isFirst = false;
    for (let found = chunk.lastIndexOf(newline, stop - 1); stop > 0 && found >= 0; ) {
      if (!give(chunk.subarray(found + 1, stop), begin + found + 1)) return false;
      stop = found;
      found = stop === 0 ? -1 : chunk.lastIndexOf(newline, stop - 1);
    }
    carry = Buffer.concat([chunk.subarray(0, stop), carry]).subarray(0, lineMaxBytes);
    carryBytes += stop;
    end = begin;
  }
  // What follows a freed part may be the end of a line.
  const isWhole = first === 0 || (await readAt(handle, first - 1, 1))[0] === newline;
  return isWhole && !isFirst ? give(Buffer.alloc(0), first) : true;
}

/** The first line that begins at this offset or behind it. */
async function lineStart(
  handle: FileHandle,
  output: ServiceOutput,
  offset: number,
  end: number,
): Promise<number> {
  if (offset === 0 || offset >= end) return offset;
  for (let at = offset - 1; at < end; ) {
    const chunk = await readAt(handle, at, Math.min(chunkBytes, end - at));
    const found = chunk.indexOf(newline);
    if (found >= 0) return at + found + 1;
    if (chunk.length === 0) break;
    at += chunk.length;
  }
  return output.to() - output.base();
}

async function readAt(handle: FileHandle, offset: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  const { bytesRead } = await handle.read(buffer, 0, length, offset);
  return buffer.subarray(0, bytesRead);
}

function textOf(bytes: Buffer, total: number, masker: Masker, isWhole: boolean): string {
  const decoded = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes).replace(/\r$/, "");
  const masked = isWhole && total <= bytes.length ? masker.text(decoded) : masker.stream().push(decoded);
  const shown = storableText(masked.slice(0, lineMaxLength));
  const isCut = total > bytes.length || masked.length > lineMaxLength;
  return isCut ? `${shown} [line cut: it has ${total} bytes]` : shown;
}

/** The last lines of an output, for reasons and messages. */
export async function lastLines(
  part: OutputPart,
  from: number,
  maxLines: number,
  maxLength: number,
): Promise<string> {
  const { output } = part;
  output.look();
  const position = output.to();
  if (position <= from) return "";
  const wanted = { id: "", projectId: 0, name: "", position, maxLines, search: "", waitMs: 0 };
  const whole = { ...part, isGrowing: false };
  const read = await readNow([whole], { ...wanted, direction: "backward" }).catch(() => null);
  const lines = read?.lines.filter((line) => line.position >= from && line.text.trim() !== "") ?? [];
  return lines
    .map(({ text }) => text)
    .join("\n")
    .slice(-maxLength);
}
