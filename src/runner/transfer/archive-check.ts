import { ReasonError } from "../../errors.ts";
import { newReason } from "../../reason/reason.ts";

const blockBytes = 512;
/** Of a name, with much room. */
const longNameMax = 64 * 1024;
const setIds = 0o6000;
const file = "0";
const hardLink = "1";
const symbolicLink = "2";
const folder = "5";
const longName = "L";
const longTarget = "K";
const damaged = "a header is damaged";

interface Entry {
  type: string;
  name: string;
  target: string;
  mode: number;
  size: number;
}

/**
 * Reads the headers of an archive before tar gets them. The archive comes from another machine, and this runner may be root: it may
 * have files, folders and links only, no name leads out of the folder or through a link, and no file changes who runs it.
 */
export function archiveCheck() {
  /** The header, or the long name, that is not complete. */
  let rest = Buffer.alloc(0);
  let wanted = blockBytes;
  let long: { type: string; size: number } | null = null;
  /** It has the empty blocks of its end. */
  let isEnded = false;
  /** Contents that are not looked at. */
  let skipped = 0;
  const named = { name: "", target: "" };
  const links = new Set<string>();

  function readHeader(header: Buffer): void {
    if (header.every((byte) => byte === 0)) {
      isEnded = true;
      return;
    }
    if (isEnded) throw refused("something follows its end");
    const { size, ...entry } = entryOf(header);
    const padded = Math.ceil(size / blockBytes) * blockBytes;
    if (entry.type === longName || entry.type === longTarget) {
      if (size === 0) throw refused("a name is damaged");
      if (size > longNameMax) throw refused("a name is too long");
      [long, wanted] = [{ type: entry.type, size }, padded];
      return;
    }
    check({ ...entry, size, name: named.name || entry.name, target: named.target || entry.target });
    [named.name, named.target] = ["", ""];
    skipped = padded;
  }

  function check({ type, name, target, mode, size }: Entry): void {
    if (![file, hardLink, symbolicLink, folder].includes(type) || (type === file && name.endsWith("/")))
      throw refused(`${name} is no file, folder or link`);
    // For tar these have no contents: it takes what follows for headers.
    if (type !== file && size !== 0) throw refused(`${name} is no file and has contents`);
    if ((mode & setIds) !== 0) throw refused(`${name} would run as another user`);
    const path = inside(name);
    if (links.has(path)) throw refused(`${name} is there twice`);
    if (type === hardLink && links.has(inside(target))) links.add(path);
    if (type === symbolicLink) links.add(path);
  }

  /** The path below the folder. */
  function inside(name: string): string {
    const parts = name.replace(/\/+$/, "").split("/");
    if (parts.shift() !== "." || parts.length === 0 || parts.some((part) => ["", ".", ".."].includes(part)))
      throw refused(`${name} is outside of the folder`);
    for (let depth = 1; depth < parts.length; depth++)
      if (links.has(parts.slice(0, depth).join("/"))) throw refused(`${name} is behind a link`);
    return parts.join("/");
  }

  /** Throws a ReasonError if the archive must not be unpacked. */
  function look(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.byteLength) {
      if (skipped > 0) {
        const taken = Math.min(skipped, chunk.byteLength - at);
        skipped -= taken;
        at += taken;
        continue;
      }
      const taken = chunk.subarray(at, at + wanted - rest.byteLength);
      rest = Buffer.concat([rest, taken]);
      at += taken.byteLength;
      if (rest.byteLength < wanted) return;
      const [whole, kind] = [rest, long];
      [rest, wanted, long] = [Buffer.alloc(0), blockBytes, null];
      if (kind === null) readHeader(whole);
      else named[kind.type === longName ? "name" : "target"] = longText(whole, kind.size);
    }
  }

  return {
    look,
    /** Throws a ReasonError if the end is missing: tar and the decompressor take a shorter archive for a whole one. */
    end(): void {
      if (!isEnded) throw new ReasonError(newReason("transfer_damaged", { why: "its end is missing" }));
    },
  };
}

function entryOf(header: Buffer): Entry {
  // Other formats have further ways to write a name.
  if (header.toString("latin1", 257, 265) !== "ustar  \0") throw refused("it has an unknown format");
  // tar passes over a header with another sum, and looks for the next one in what follows.
  if (numberOf(header.subarray(148, 156)) !== sumOf(header)) throw refused(damaged);
  return {
    name: textOf(header.subarray(0, 100)),
    mode: numberOf(header.subarray(100, 108)),
    size: numberOf(header.subarray(124, 136)),
    type: header.toString("latin1", 156, 157),
    target: textOf(header.subarray(157, 257)),
  };
}

/** Its own field counts as spaces. */
function sumOf(header: Buffer): number {
  return header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);
}

/** A name that ends with its size. */
function longText(block: Buffer, size: number): string {
  const text = textOf(block);
  if (text === "" || text.length !== size - 1) throw refused("a name is damaged");
  return text;
}

function textOf(field: Buffer): string {
  const end = field.indexOf(0);
  return field.toString("latin1", 0, end < 0 ? field.length : end);
}

/** As tar writes it: octal, or binary if it is too large for that. */
function numberOf(field: Buffer): number {
  if (field[0] === 0x80 && field.subarray(1, -6).every((byte) => byte === 0))
    return field.readUIntBE(field.length - 6, 6);
  const text = textOf(field);
  if (!/^[0-7]+$/.test(text)) throw refused(damaged);
  return Number.parseInt(text, 8);
}

function refused(why: string): ReasonError {
  return new ReasonError(newReason("transfer_unsafe", { why }));
}
