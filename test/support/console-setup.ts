import { afterAll } from "bun:test";
import type { Browser } from "playwright-core";
import { closeBrowser, startBrowser } from "./browser.ts";
import { type ConsoleScene, startScene } from "./console-scene.ts";
import { type DeployServer, startDeployServer } from "./deploy-server.ts";

/**
 * A browser and an empty installation for the tests of one file; both end with the file.
 * Where no task runs, `"runner.enabled": false` saves the start of another process.
 */
export async function setUpConsole(
  settings: Parameters<typeof startDeployServer>[0] = {},
): Promise<{ browser: Browser; server: DeployServer }> {
  const [browser, server] = await Promise.all([startBrowser(), startDeployServer(settings)]);
  afterAll(async () => {
    await closeBrowser(browser);
    await server.stop();
    server.remove();
  });
  return { browser, server };
}

/** The same with an installation that contains some of everything that the console shows. */
export async function setUpScene(): Promise<{ browser: Browser; scene: ConsoleScene }> {
  const [browser, scene] = await Promise.all([startBrowser(), startScene()]);
  afterAll(async () => {
    await closeBrowser(browser);
    await scene.close();
  });
  return { browser, scene };
}
