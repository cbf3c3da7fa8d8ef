/** Collects bytes and keeps only the last `maxBytes`. */
export function keepEnd(maxBytes: number): { push(bytes: Uint8Array): void; text(): string } {
  let kept = Buffer.alloc(0);
  return {
    push(bytes) {
      kept = Buffer.concat([kept, bytes.subarray(-maxBytes)]).subarray(-maxBytes);
    },
    text: () => kept.toString("utf8"),
  };
}
