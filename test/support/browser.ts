import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { atEnd } from "./at-end.ts";
import { provide } from "./services.ts";

/** A name of this machine that browsers do not treat as localhost: a page over plain http is no secure context. */
export const plainHost = "slipway.example";

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  "--mute-audio",
  `--host-resolver-rules=MAP ${plainHost} 127.0.0.1`,
];

interface BrowserOptions {
  hasScrollBars?: boolean;
  flags?: string[];
  env?: Record<string, string>;
}

let shared: Promise<Browser> | null = null;

/** Chromium of the system. Without options, all files of a process share one: a start takes as long as some pages. */
export async function startBrowser(options?: BrowserOptions): Promise<Browser> {
  if (options !== undefined) return launch(options);
  if (shared !== null && (await shared).isConnected()) return shared;
  shared = launch({});
  atEnd(async () => void (await (await shared)?.close()));
  return shared;
}

/** Driven by Playwright, which hides the scroll bars of pages unless told otherwise. */
async function launch({
  hasScrollBars = false,
  flags: more = [],
  env = {},
}: BrowserOptions): Promise<Browser> {
  const found = await provide("chromium");
  if (!("value" in found)) throw new Error(`Chromium is needed for these tests: ${found.missing}`);
  return chromium.launch({
    executablePath: found.value,
    args: [...flags, ...more],
    ...(Object.keys(env).length > 0 ? { env: { ...definedOf(process.env), ...env } } : {}),
    ...(hasScrollBars ? { ignoreDefaultArgs: ["--hide-scrollbars"] } : {}),
    timeout: 60_000,
  });
}

function definedOf(env: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

export async function closeBrowser(browser: Browser): Promise<void> {
  await Promise.all(browser.contexts().map(closeContext));
  if (browser !== (await shared)) await browser.close();
}

/** A request that a test intercepts at this moment would otherwise fail after the test, as an error outside of it. */
export async function closeContext(context: BrowserContext): Promise<void> {
  for (const page of context.pages()) await page.unrouteAll({ behavior: "ignoreErrors" });
  await context.close();
}

/** Uncaught errors of a page, and violations of its content security policy. */
export function collectFaults(page: Page): string[] {
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && /Content Security Policy|Uncaught|React/.test(message.text()))
      faults.push(message.text());
  });
  return faults;
}
