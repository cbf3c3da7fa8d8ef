import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { adminPassword } from "./api-server.ts";
import { closeContext, collectFaults } from "./browser.ts";

/** A page of the console, signed in. */
export interface ConsolePage {
  page: Page;
  /** Uncaught errors and refusals of the content security policy, so far. */
  faults: string[];
  /** Opens an address and waits until its heading is shown. */
  go(path: string): Promise<void>;
  close(): Promise<void>;
}

export const wide = { viewport: { width: 1280, height: 860 } };

export async function openConsole(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = wide,
  { username, password } = { username: "admin", password: adminPassword },
): Promise<ConsolePage> {
  // Without a graphics card, animations take most of the time of a page.
  const context = await browser.newContext({ reducedMotion: "reduce", ...options });
  // As long as a deploy may take on a busy machine.
  context.setDefaultTimeout(60_000);
  const signedIn = await context.request.post(`${url}/api/auth/login`, {
    data: { username, password, cookie: true },
    headers: { "x-slipway-csrf": "1" },
  });
  if (!signedIn.ok()) throw new Error(`sign-in answered ${signedIn.status()}: ${await signedIn.text()}`);
  const page = await context.newPage();
  const faults = collectFaults(page);
  return {
    page,
    faults,
    async go(path) {
      await page.goto(url + path);
      await page.locator("h1").first().waitFor();
      await isPainted(page);
    },
    close: () => closeContext(context),
  };
}

/**
 * Waits until the page is painted: the browser drops keys that are pressed before, and painting takes long on a busy machine.
 * Not `evaluate`, which fails if the page loads itself again meanwhile.
 */
export async function isPainted(page: Page): Promise<void> {
  await page.waitForFunction(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true)))),
  );
}

/** Waits until the page shows that its live connection is open. */
export async function becomesLive(page: Page): Promise<void> {
  await page.locator('.side .live-state[data-state="open"]').waitFor();
}

/** Waits until a field of the open dialog has the focus, so that typed keys go there. */
export async function focusedDialogField(page: Page): Promise<void> {
  await page.waitForFunction(() => document.activeElement?.matches('[role="dialog"] input') ?? false);
}

/** The bar with the number of unsaved changes and the buttons Save and Discard. */
export function saveBar(page: Page): Locator {
  return page.getByRole("region", { name: "Unsaved changes" });
}

/** Saves the forms of the page and waits until the bar is gone. */
export async function saveForms(page: Page): Promise<void> {
  await saveBar(page).getByRole("button", { name: "Save", exact: true }).click();
  await saveBar(page).waitFor({ state: "detached" });
}

export async function inScheme(page: Page, colorScheme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor();
  // Some colours change over some frames, also for people who prefer no movement.
  await page.waitForFunction(() => !document.getAnimations().some((each) => each instanceof CSSTransition));
}
