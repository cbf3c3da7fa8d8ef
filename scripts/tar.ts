export interface TarEntry {
  name: string;
  bytes: Uint8Array;
}

const blockBytes = 512;

/** A tar archive (ustar) of files that anybody may read. The same entries and time give the same bytes. */
export function tarOf(entries: TarEntry[], timeSeconds: number): Uint8Array<ArrayBuffer> {
  const parts = entries.flatMap(({ name, bytes }) => [
    headerOf(name, bytes.length, timeSeconds),
    bytes,
    new Uint8Array(-bytes.length & (blockBytes - 1)),
  ]);
  // Two empty blocks are the end.
  return new Uint8Array(Buffer.concat([...parts, new Uint8Array(2 * blockBytes)]));
}

function headerOf(name: string, size: number, timeSeconds: number): Uint8Array {
  if (Buffer.byteLength(name) > 100) throw new Error(`${name} is too long for a tar archive`);
  const header = Buffer.alloc(blockBytes);
  header.write(name, 0);
  const octal = (value: number, at: number, length: number) =>
    header.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at);
  octal(0o644, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(timeSeconds, 136, 12);
  // The checksum is taken with blanks in its own place.
  header.write("        ", 148);
  header.write("0", 156);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}
