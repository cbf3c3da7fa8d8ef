import { expect, test } from "bun:test";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { buildClient } from "../../scripts/build-client.ts";
import { closeBrowser, startBrowser } from "../support/browser.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { examplesFolder, startBackend } from "../support/examples.ts";
import { freePort } from "../support/free-port.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const hasChromium = (await serviceUrl("chromium")) !== undefined;
const port = freePort();
const url = `http://127.0.0.1:${port}`;
const { server, repository } = await setUpDeploy({
  "push.verify-uri": `${url}/verify`,
  "push.allowed-origins": [url],
});

test.skipIf(!hasChromium)(
  "the example page says that a new version is there after a deploy, and only then",
  async () => {
    const folder = temporaryFolder("example-html");
    await buildClient(folder);
    await copyFile(join(examplesFolder, "html/index.html"), join(folder, "index.html"));
    const command = ["node", join(examplesFolder, "node/server.mjs"), folder];
    const [backend, browser] = await Promise.all([
      startBackend(command, { PORT: String(port), GATEWAY: server.url, PUSH_URL: server.url }),
      startBrowser(),
    ]);
    try {
      const page = await (await browser.newContext()).newPage();
      await page.goto(`${url}/?user=ann`);
      await page.getByText("connected", { exact: true }).waitFor();
      const notice = page.getByRole("status").getByText("A new version is there.");
      const notify = [{ format: "push", url: "channel:releases" }];
      const stages = { deploy: "test ! -f fails" };
      const projectId = await server.project(repository.url, stages, { notify });
      await repository.push({ fails: "1" });
      await server.reach((await server.run(projectId)).id, "failed");
      expect(await notice.isVisible()).toBe(false);
      await server.admin.expect(200, "PATCH", `/api/projects/${projectId}`, {
        stages: { deploy: { script: "true" } },
      });
      await server.reach((await server.run(projectId)).id, "success");
      await notice.waitFor();
      await page.getByRole("button", { name: "Reload" }).click();
      await page.getByText("connected", { exact: true }).waitFor();
      expect(await notice.isVisible()).toBe(false);
    } finally {
      await closeBrowser(browser);
      await backend.stop();
    }
  },
  120_000,
);
