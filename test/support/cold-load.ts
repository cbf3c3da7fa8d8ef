import type { Page } from "playwright-core";
import { becomesLive } from "./console-page.ts";

/** What a page asks for until its content is there. */
export async function loadOf(
  page: Page,
  open: () => Promise<void>,
): Promise<{ requests: string[]; bytes: number }> {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  const requests: string[] = [];
  let bytes = 0;
  // The browser reports the font inside the style sheet as a request of its own.
  const inside = new Set<string>();
  session.on("Network.requestWillBeSent", ({ request, requestId }) => {
    if (request.url.startsWith("data:")) inside.add(requestId);
    else requests.push(new URL(request.url).pathname);
  });
  session.on("Network.loadingFinished", ({ encodedDataLength, requestId }) => {
    if (!inside.has(requestId)) bytes += encodedDataLength;
  });
  await open();
  await becomesLive(page);
  await session.detach();
  return { requests, bytes };
}
