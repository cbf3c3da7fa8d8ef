import { installPackages, ServiceUnavailable } from "./service-install.ts";

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** The path of a Chromium that Playwright can drive; each test starts it itself. */
export async function findChromium(): Promise<string> {
  const found = find() ?? ((await installPackages("chromium")) ? find() : undefined);
  if (found) return found;
  throw new ServiceUnavailable(
    "Chromium is not installed: install the package `chromium`, or set SLIPWAY_TEST_CHROMIUM to an executable.",
  );
}

function find(): string | undefined {
  for (const name of names) {
    const path = Bun.which(name);
    if (path) return path;
  }
  return undefined;
}
