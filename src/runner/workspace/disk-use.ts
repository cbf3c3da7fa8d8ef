import { existsSync } from "node:fs";

/** A workspace may contain a million files; measuring ends after this time. */
const usualPatienceMs = 10_000;

/** Bytes that folders take on disk, those that do not exist none; null: not measured. */
export async function diskUseOf(
  folders: string[],
  patienceMs: number = usualPatienceMs,
): Promise<number | null> {
  const existing = folders.filter((folder) => existsSync(folder));
  if (existing.length === 0) return 0;
  try {
    const child = Bun.spawn(["du", "-skc", "--", ...existing], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
      timeout: patienceMs,
    });
    const text = await new Response(child.stdout).text();
    await child.exited;
    // The last line is the sum: one that was ended has none.
    const kilobytes = Number(/(?:^|\n)(\d+)\ttotal\n$/.exec(text)?.[1]);
    return Number.isInteger(kilobytes) ? kilobytes * 1024 : null;
  } catch {
    return null;
  }
}
