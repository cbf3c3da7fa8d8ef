/** What surrounds the text of a line, in memory and on disk: empty lines are not free. */
const aroundBytes = 32;

/** What one line of a task's log counts against tasks.logMaxBytes; server and runner must agree. */
export function logLineSize(text: string): number {
  return Buffer.byteLength(text) + aroundBytes;
}
