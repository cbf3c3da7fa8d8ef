/** A workspace may contain a million files; measuring ends after this time. */
const patienceMs = 10_000;

/** Bytes that a folder takes on disk; null: not measured. */
export async function diskUseOf(folder: string): Promise<number | null> {
  try {
    const child = Bun.spawn(["du", "-sk", folder], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
      timeout: patienceMs,
    });
    const kilobytes = Number.parseInt(await new Response(child.stdout).text(), 10);
    await child.exited;
    return Number.isInteger(kilobytes) ? kilobytes * 1024 : null;
  } catch {
    return null;
  }
}
