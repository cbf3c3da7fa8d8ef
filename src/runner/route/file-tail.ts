import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";

const partBytes = 1024 * 1024;

/** Reads the new lines of a file that another program writes, and which is replaced by a new one or emptied when it is full. */
export function openFileTail(path: string, from: "start" | "end") {
  let descriptor: number | null = null;
  let offset = 0;
  let rest = "";
  let isFirst = true;

  function open(): boolean {
    try {
      descriptor = openSync(path, "r");
    } catch {
      isFirst = false;
      return false;
    }
    offset = isFirst && from === "end" ? fstatSync(descriptor).size : 0;
    isFirst = false;
    return true;
  }

  function* read(): Generator<string> {
    const buffer = Buffer.alloc(partBytes);
    while (descriptor !== null) {
      const count = readSync(descriptor, buffer, 0, partBytes, offset);
      if (count === 0) return;
      offset += count;
      const lines = (rest + buffer.toString("utf8", 0, count)).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
  }

  const isReplaced = () =>
    descriptor !== null && statSync(path, { throwIfNoEntry: false })?.ino !== fstatSync(descriptor).ino;

  open();
  return {
    /** The file was emptied: it begins anew. */
    emptied(): void {
      offset = 0;
      rest = "";
    },
    *lines(): Generator<string> {
      if (descriptor === null && !open()) return;
      yield* read();
      if (!isReplaced() || descriptor === null) return;
      closeSync(descriptor);
      descriptor = null;
      rest = "";
      if (open()) yield* read();
    },
  };
}
