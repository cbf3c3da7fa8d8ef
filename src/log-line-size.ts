/** Overhead of a line in memory and on disk, so that empty lines count too. */
const overheadBytes = 32;

/** Bytes that one line of a task's log counts against tasks.logMaxBytes. Server and runner must agree. */
export function logLineSize(text: string): number {
  return Buffer.byteLength(text) + overheadBytes;
}
