import { expect, test } from "bun:test";
import { adminPassword } from "../support/api-server.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { startFirefox } from "../support/firefox.ts";
import { serviceUrl } from "../support/services.ts";

const executable = await serviceUrl("firefox");
const { server, repository } = await setUpDeploy();

const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";

test.skipIf(!executable)(
  "in Firefox: from the sign-in to a deploy with its log, and each page fits a phone",
  async () => {
    const id = await server.project(repository.url, { build: "echo built in Firefox" }, { name: "shop" });
    await using page = await startFirefox(executable ?? "");
    await page.resize(1440, 900);
    await page.go(server.url);
    await page.type('input[autocomplete="username"]', "admin");
    await page.type('input[autocomplete="current-password"]', adminPassword);
    await page.click('button[type="submit"]');
    await page.shown("h1", "Home");
    await page.shown('.side .live-state[data-state="open"]');

    await page.go(`${server.url}/projects/${id}`);
    await page.click("button", "Start a deploy");
    await page.click('[role="dialog"] button', "Start the deploy");
    await page.shown(".log-text", "built in Firefox");
    await page.shown('.task-facts .state[data-state="success"]');

    await page.resize(390, 844);
    for (const path of ["/", `/projects/${id}`, "/activity?show=all", "/push", "/system"]) {
      await page.go(server.url + path);
      await page.shown("h1");
      expect([path, await page.evaluate<number>(overflow)]).toEqual([path, 0]);
    }
    expect(page.faults).toEqual([]);
  },
);
