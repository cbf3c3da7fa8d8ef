/** A part of the console could not be loaded: the network is away, or the server has another version by now. */
export function isLoadFailure(thrown: unknown): boolean {
  // Chromium, Firefox and Safari each have their own words.
  return (
    thrown instanceof Error && /dynamically imported module|importing a module script/i.test(thrown.message)
  );
}

const entry = /<script type="module" src="([^"]+)"/;
const reloadedAt = "slipway-reloaded-at";
const reloadEveryMs = 30_000;

/** The script that the server's page names now. Null: the server cannot be reached. */
async function offeredScript(): Promise<string | null> {
  try {
    const page = await fetch("/", { cache: "no-store" });
    return entry.exec(await page.text())?.[1] ?? null;
  } catch {
    return null;
  }
}

/**
 * Loads the page again if the server answers: a request was lost, or there is another version. Not soon after the last time, so
 * that it cannot go on for ever.
 */
export async function reloadAfterFailure(): Promise<void> {
  if (Date.now() - Number(sessionStorage.getItem(reloadedAt)) < reloadEveryMs) return;
  if ((await offeredScript()) === null) return;
  sessionStorage.setItem(reloadedAt, String(Date.now()));
  location.reload();
}

/** False: the server cannot be reached. A reload would then replace the console by an error page of the browser. */
export async function reloadIfReachable(): Promise<boolean> {
  if ((await offeredScript()) === null) return false;
  location.reload();
  return true;
}
