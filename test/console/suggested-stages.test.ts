import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { openConsole } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { makeRepository } from "../support/git-repository.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

// What is suggested for a repository is deployed as it is, or with what the form asked for.
const { browser, server } = await setUpConsole({ "runner.hostSteps": true });
const view = await openConsole(browser, server.url);
afterAll(() => expect(view.faults).toEqual([]));

test("a site is deployed from the folder that its build writes to, which is asked for when nothing tells it", async () => {
  const { page, go } = view;
  const shop = await makeRepository();
  const target = temporaryFolder("site");
  await shop.push({
    "package.json": JSON.stringify({ scripts: { build: "mkdir -p public && cp page.html public/" } }),
    "page.html": "<h1>Shop</h1>",
  });
  await go("/projects/new");
  await page.getByLabel("Clone URL").fill(shop.url);
  await page.getByText("Slipway can read the repository").waitFor();
  await page.getByLabel("Name").fill("site");
  const output = page.getByLabel("OUTPUT_DIR");
  expect(await output.inputValue()).toBe("");
  await page.getByLabel("SITE_DIR").fill(target);
  await page.getByRole("button", { name: "Add the project" }).click();
  await page.getByText("Fill in this field").waitFor();
  await output.fill("public");
  await page.getByRole("button", { name: "Add the project" }).click();
  await deployed(page);
  expect(readFileSync(join(target, "current/page.html"), "utf8")).toBe("<h1>Shop</h1>");
  shop.remove();
}, 120_000);

test("of programs in several folders one is chosen, and its commands run in its folder", async () => {
  const { page, go } = view;
  const shop = await makeRepository();
  const manifest = JSON.stringify({ scripts: { start: "node server.js" } });
  const serve = 'require("http").createServer((_, answer) => answer.end("api")).listen(process.env.PORT);';
  await shop.push({
    "README.md": "two programs",
    ...{ "web/package.json": manifest, "api/package.json": manifest, "api/server.js": serve },
  });
  await go("/projects/new");
  await page.getByLabel("Clone URL").fill(shop.url);
  await page.getByText("Slipway can read the repository").waitFor();
  await page.getByLabel("Name").fill("monorepo");
  // A group that does not exist yet is added here.
  await page.getByRole("combobox", { name: "Group" }).fill("apps");
  await page.getByRole("option", { name: "Add “apps”" }).click();
  await page.getByText("The group apps was added.").waitFor();
  expect(await page.getByRole("combobox", { name: "Group" }).inputValue()).toBe("apps");
  const preset = page.getByRole("combobox", { name: "Start from" });
  expect(await preset.inputValue()).toBe("");
  await page.getByRole("button", { name: "Add the project" }).click();
  await page.getByText("Fill in this field").waitFor();
  await preset.click();
  await page.getByRole("option", { name: "Node service (found api/package.json)" }).click();
  const command = page.getByRole("textbox", { name: "Service web" });
  expect(await command.inputValue()).toBe("cd api && npm run start");
  // A port that another program has would fail the first deploy.
  expect(await page.getByLabel("Port of web").inputValue()).toBe("$PORT");
  await page.getByRole("button", { name: "Add the project" }).click();
  const id = await deployed(page);
  const { services } = await server.admin.expect<{ services: { port: number }[] }>(
    200,
    "GET",
    `/api/projects/${id}/services`,
  );
  expect(await (await fetch(`http://127.0.0.1:${services[0]?.port}/`)).text()).toBe("api");
  const { groupId } = await server.admin.expect<{ groupId: number }>(200, "GET", `/api/projects/${id}`);
  expect(await server.admin.expect(200, "GET", `/api/groups/${groupId}`)).toMatchObject({ name: "apps" });
  await server.admin.expect(202, "POST", `/api/projects/${id}/services/web/stop`);
  shop.remove();
}, 120_000);

/** The project of the page is deployed without another change. */
async function deployed(page: Page): Promise<number> {
  await page.waitForURL(/projects\/\d+\/set-up/);
  const id = Number(/projects\/(\d+)/.exec(page.url())?.[1]);
  const task = await server.admin.expect<{ id: number }>(201, "POST", `/api/projects/${id}/tasks`, {});
  await server.reach(task.id, "success");
  return id;
}

test("a Procfile becomes services, which are deployed from the repository and serve", async () => {
  const { page, go } = view;
  const shop = await makeRepository();
  await shop.push({
    Procfile: "release: echo migrated\nweb: python3 -m http.server $PORT\nworker: sleep 600\n",
    "page.html": "<h1>Shop</h1>",
  });
  await go("/projects/new");
  await page.getByLabel("Clone URL").fill(shop.url);
  await page.getByText("Slipway can read the repository").waitFor();
  expect(await page.getByRole("textbox", { name: "Service worker" }).inputValue()).toBe("sleep 600");
  await page.getByLabel("After the start, check that web answers on port $PORT").waitFor();
  await page.getByLabel("Name").fill("procfile");
  await page.getByRole("button", { name: "Add the project" }).click();
  await page.waitForURL(/projects\/\d+\/set-up/);
  const id = Number(/projects\/(\d+)/.exec(page.url())?.[1]);
  const { pipeline } = await server.admin.expect<{ pipeline: object }>(200, "GET", `/api/projects/${id}`);
  expect(pipeline).toMatchObject({
    deploy: [{ script: "echo migrated" }],
    start: {
      web: { command: "python3 -m http.server $PORT", port: "$PORT", check: { tcp: "$PORT" } },
      worker: { command: "sleep 600", port: "none", check: null },
    },
  });
  const task = await server.admin.expect<{ id: number }>(201, "POST", `/api/projects/${id}/tasks`, {});
  await server.reach(task.id, "success");
  const { services } = await server.admin.expect<{
    services: { name: string; state: string; port: number }[];
  }>(200, "GET", `/api/projects/${id}/services`);
  expect(services.map(({ name, state }) => `${name} ${state}`)).toEqual(["web serving", "worker serving"]);
  const web = services.find(({ name }) => name === "web");
  expect(await (await fetch(`http://127.0.0.1:${web?.port}/page.html`)).text()).toBe("<h1>Shop</h1>");
  for (const { name } of services)
    await server.admin.expect(202, "POST", `/api/projects/${id}/services/${name}/stop`);
  shop.remove();
});
