import { installPackages, ServiceUnavailable } from "./service-install.ts";

/** Chromium without windows, which takes a quarter less of the processor for the same tests. */
const shell = "chromium-headless-shell";
const others = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** The path of a Chromium that Playwright can drive; each test starts it itself. */
export async function findChromium(): Promise<string> {
  const found = find(shell) ?? ((await installPackages(shell)) ? find(shell) : undefined) ?? find(...others);
  if (found) return found;
  throw new ServiceUnavailable(
    `Chromium is not installed: install the package \`${shell}\` or \`chromium\`, or set SLIPWAY_TEST_CHROMIUM to an executable.`,
  );
}

function find(...names: string[]): string | undefined {
  for (const name of names) {
    const path = Bun.which(name);
    if (path) return path;
  }
  return undefined;
}
