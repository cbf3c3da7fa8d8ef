import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { copyFile, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { buildClient } from "../../scripts/build-client.ts";
import { closeBrowser, startBrowser } from "../support/browser.ts";
import { type ExampleScene, examplesFolder, startExample } from "../support/examples.ts";
import { startProxyWithoutUpgrades } from "../support/no-upgrades.ts";
import { run } from "../support/service-install.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const hasChromium = (await serviceUrl("chromium")) !== undefined;
const root = join(import.meta.dir, "../..");
const htmlFolder = temporaryFolder("example-html");
const reactFolder = temporaryFolder("example-react");
const backend = (folder: string) => ["node", join(examplesFolder, "node/server.mjs"), folder];

/** The page and the client in one folder. */
async function prepareHtml(): Promise<void> {
  await buildClient(htmlFolder);
  await copyFile(join(examplesFolder, "html/index.html"), join(htmlFolder, "index.html"));
}

/** Installs the packages of the example and builds it, as its `package.json` says. */
async function prepareReact(): Promise<void> {
  const modules = join(reactFolder, "node_modules");
  await mkdir(join(modules, "@types"), { recursive: true });
  for (const name of ["react", "react-dom", "@types/react", "@types/react-dom"])
    await symlink(join(root, "node_modules", name), join(modules, name));
  await buildClient(join(modules, "slipway-push"));
  for (const name of ["app.tsx", "index.html", "package.json"])
    await copyFile(join(examplesFolder, "react", name), join(reactFolder, name));
  const language = ["--module", "preserve", "--target", "esnext", "--jsx", "react-jsx", "--strict"];
  const tsc = [join(root, "node_modules/.bin/tsc"), "--ignoreConfig", "--noEmit", "--skipLibCheck"];
  expect(await run([...tsc, ...language, "app.tsx"], { cwd: reactFolder })).toBe(true);
  const build = [process.execPath, "build", "app.tsx", "--outdir", ".", "--target", "browser"];
  expect(await run(build, { cwd: reactFolder })).toBe(true);
}

describe.skipIf(!hasChromium)("the examples for pages", () => {
  let browser: Browser;
  let scene: ExampleScene | undefined;

  beforeAll(async () => {
    browser = await startBrowser();
    await prepareHtml();
    await prepareReact();
  });
  afterEach(() => scene?.stop());
  afterAll(() => closeBrowser(browser));

  const shows = (page: Page, id: string, text: string) =>
    page.waitForFunction(
      ([name = "", wanted = ""]) => document.getElementById(name)?.textContent?.startsWith(wanted),
      [id, text],
      { timeout: 60_000 },
    );
  const messagesOf = (page: Page) => page.locator("#messages li").allTextContents();

  test.each([
    { name: "plain HTML", folder: htmlFolder },
    { name: "React", folder: reactFolder },
  ])("$name with the Node backend: nothing is lost by a cut network or a reload", async ({ folder }) => {
    scene = await startExample(backend(folder));
    const page = await browser.newPage();
    await page.goto(`${scene.url}/?user=ann`);
    await shows(page, "state", "connected");
    await scene.notify("ann", "one");
    await page.getByText("one", { exact: true }).waitFor();

    scene.network.cut();
    await shows(page, "state", folder === htmlFolder ? "reconnecting" : "waiting");
    for (const text of ["two", "three"]) await scene.notify("ann", text);
    scene.network.restore();
    await shows(page, "recovery", "caught up");
    await page.getByText("three", { exact: true }).waitFor();
    expect(await messagesOf(page)).toEqual(["one", "two", "three"]);

    await page.goto("about:blank");
    await scene.notify("ann", "four");
    await page.goto(`${scene.url}/?user=ann`);
    await shows(page, "recovery", "caught up");
    await page.getByText("four", { exact: true }).waitFor();
    expect(await messagesOf(page)).toEqual(["four"]);
    await page.close();
  });

  test("plain HTML in a browser that is switched offline and online says so, and loses nothing", async () => {
    scene = await startExample(backend(htmlFolder));
    const page = await browser.newPage();
    await page.goto(`${scene.url}/?user=ann`);
    await shows(page, "state", "connected");
    await scene.notify("ann", "one");
    await page.getByText("one", { exact: true }).waitFor();

    await page.context().setOffline(true);
    // The browser keeps the open connection; it ends, as at a change of the network.
    await scene.app.post("/feign/disconnect", { userId: "ann", code: 4200 });
    await shows(page, "state", "reconnecting");
    for (const text of ["two", "three"]) await scene.notify("ann", text);
    expect(await messagesOf(page)).toEqual(["one"]);
    await page.context().setOffline(false);
    await shows(page, "recovery", "caught up");
    await page.getByText("three", { exact: true }).waitFor();
    expect(await messagesOf(page)).toEqual(["one", "two", "three"]);
    await page.close();
  });

  test("plain HTML behind a proxy that refuses upgrades says that it fell back, and loses nothing", async () => {
    let proxy: ReturnType<typeof startProxyWithoutUpgrades> | undefined;
    scene = await startExample(backend(htmlFolder), (app) => {
      proxy = startProxyWithoutUpgrades(app.url);
      return proxy.url;
    });
    const page = await browser.newPage();
    await page.goto(`${scene.url}/?user=ann`);
    await shows(page, "state", "connected; fell back");
    await scene.notify("ann", "one");
    await page.getByText("one", { exact: true }).waitFor();
    await scene.app.post("/feign/disconnect", { userId: "ann", code: 4200 });
    await scene.notify("ann", "two");
    await shows(page, "recovery", "caught up");
    await page.getByText("two", { exact: true }).waitFor();
    expect(await messagesOf(page)).toEqual(["one", "two"]);
    await page.close();
    await proxy?.stop();
  });
});
