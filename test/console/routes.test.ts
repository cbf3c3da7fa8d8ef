import { afterAll, expect, test } from "bun:test";
import { userPassword } from "../support/api-server.ts";
import { violations } from "../support/axe.ts";
import { closeBrowser, startBrowser } from "../support/browser.ts";
import { openConsole, saveBar, saveForms, wide } from "../support/console-page.ts";
import { eventually } from "../support/eventually.ts";
import { openServerFile } from "../support/server-file.ts";
import { startServiceScene } from "../support/service-scene.ts";

const [browser, scene] = await Promise.all([startBrowser(), startServiceScene({}, undefined, "start")]);
const { server, report, service } = scene;
const shop = await scene.deployed(["web"], { name: "shop" });
const place = (domain: string, path = "/") => ({ domain, path, url: `https://${domain}${path}` });
const reported = service(shop, {
  routes: [
    { ...place("shop.example.com"), fault: null, certificateUntil: "2027-03-01T00:00:00.000Z" },
    {
      ...place("old.example.com"),
      fault: { reason: "Port 80 is taken by nginx (pid 812)." },
      certificateUntil: null,
    },
  ],
});
const reporting = setInterval(() => void report(reported), 5000);
afterAll(async () => {
  clearInterval(reporting);
  await closeBrowser(browser);
  await server.stop();
});

/** A day with a few errors, and three in a hundred since the release began. */
function addDayOfRequests(): void {
  using database = openServerFile(server.dataDir);
  const add = database.prepare("insert into service_requests values (?, 'web', ?, ?, ?, 5, 7, ?, ?, ?)");
  for (let minutes = 24 * 60 - 2; minutes > 0; minutes -= 1) {
    const count = Math.round(300 + 100 * Math.sin(minutes / 90));
    const errors = minutes % 180 === 0 ? 9 : 0;
    const times = [12 + Math.random(), 80 + 20 * Math.sin(minutes / 60)] as const;
    add.run(shop.projectId, Date.now() - minutes * 60_000, count, count - 12 - errors, errors, ...times);
  }
  add.run(shop.projectId, Date.now() + 60_000, 100, 85, 3, 14, 95);
}

test("the page of a service has its routes, and the requests of the last day with the errors of the release", async () => {
  const web = { command: "node a.js", routes: [{ domains: ["shop.example.com", "new.example.com"] }] };
  await server.admin.expect(200, "PATCH", `/api/projects/${shop.projectId}`, {
    pipeline: { start: { web } },
  });
  addDayOfRequests();
  await report(reported);
  const { page, go, faults, close } = await openConsole(browser, server.url);
  await go(`/projects/${shop.projectId}/services/web`);
  const routes = page.locator(".routes li");
  await routes.filter({ hasText: "shop.example.com" }).getByText("in place").waitFor();
  await routes.filter({ hasText: "shop.example.com" }).getByText("certificate until").waitFor();
  await routes.filter({ hasText: "new.example.com" }).getByText("with the next deploy").first().waitFor();
  await routes.filter({ hasText: "old.example.com" }).getByText("Port 80 is taken by nginx").waitFor();
  await page.getByText("Errors after this release: 3").waitFor();
  expect(await page.locator(".series line").count()).toBe(3);
  expect(await violations(page)).toEqual([]);
  await page.setViewportSize({ width: 390, height: 800 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
  expect(faults).toEqual([]);
  await close();
});

test("routes are added in the settings, and the server's faults stand at their fields", async () => {
  const { page, go, faults, close } = await openConsole(browser, server.url);
  const projectId = await scene.project(["web"], { name: "formed" });
  type Answer = { pipeline: { start: { web: { routes: object[] } } }; publicUrl: string };
  const read = () => server.admin.expect<Answer>(200, "GET", `/api/projects/${projectId}`);
  await go(`/projects/${projectId}/settings/pipeline`);
  await page.getByRole("button", { name: "Add a route to web" }).click();
  const domains = page.getByLabel("Domains of the route web 1");
  await domains.fill("shop.example.com");
  await domains.press("Enter");
  await page.getByLabel("Path of the route web 1").fill("/checkout");
  await saveForms(page);
  await eventually("the route is saved", async () => (await read()).publicUrl !== "");
  const stored = await read();
  expect(stored.pipeline.start.web.routes).toMatchObject([
    { domains: ["shop.example.com"], path: "/checkout" },
  ]);
  expect(stored.publicUrl).toBe("https://shop.example.com/checkout");
  await page.getByLabel("Path of the route web 1").fill("/");
  await saveBar(page).getByRole("button", { name: "Save" }).click();
  await page.getByText("the project shop has a route for shop.example.com").first().waitFor();
  expect(await violations(page)).toEqual([]);
  expect(faults).toEqual([]);
  await close();
});

test("an administrator says which domains a project and a group may use; managers do not see these fields", async () => {
  const { id: groupId } = await server.admin.expect<{ id: number }>(201, "POST", "/api/groups", {
    name: "Storefront",
  });
  const projectId = await scene.project(["web"], { name: "bound", groupId });
  type Answer = { allowedDomains: string[] | null };
  const read = async (path: string) =>
    (await server.admin.expect<Answer>(200, "GET", path)).allowedDomains?.join(" ") ?? "any";
  const { page, go, faults, close } = await openConsole(browser, server.url);
  const give = async (...names: string[]) => {
    const field = page.getByRole("combobox", { name: "Allowed domains" });
    for (const name of names) {
      await field.fill(name);
      await field.press("Enter");
    }
  };
  await go("/groups");
  await page.getByRole("button", { name: "Domains" }).click();
  await page.getByLabel("Only some domains").check();
  await give("*.example.com", "{file}.example.com");
  const save = page.getByRole("button", { name: "Save the domains" });
  await save.click();
  await page.locator(".mantine-TagsInput-error").getByText("must be").waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("combobox", { name: "Allowed domains" }).press("Backspace");
  await save.click();
  await page.getByText("The domains of Storefront were saved.").waitFor();
  expect(await read(`/api/groups/${groupId}`)).toBe("*.example.com");

  await go(`/projects/${projectId}/settings/source`);
  await page.getByLabel("Only some domains").check();
  await give("shop.example.net", "no.domain!");
  await saveBar(page).getByRole("button", { name: "Save" }).click();
  await page.locator(".mantine-TagsInput-error").getByText("must be").waitFor();
  await page.getByRole("combobox", { name: "Allowed domains" }).press("Backspace");
  await saveForms(page);
  await eventually(
    "the domain is saved",
    async () => (await read(`/api/projects/${projectId}`)) === "shop.example.net",
  );
  await page.getByLabel("Only some domains").uncheck();
  await saveForms(page);
  await eventually("there is no list", async () => (await read(`/api/projects/${projectId}`)) === "any");
  expect(faults).toEqual([]);
  await close();

  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/users", {
    ...{ username: "manager", password: userPassword },
  });
  await server.admin.expect(200, "PUT", `/api/groups/${groupId}/members/${id}`, { permission: "manage" });
  const manager = await openConsole(browser, server.url, wide, {
    ...{ username: "manager", password: userPassword },
  });
  await manager.go("/groups");
  await manager.page.getByRole("link", { name: "Show the projects" }).waitFor();
  expect(await manager.page.getByRole("button", { name: "Domains" }).count()).toBe(0);
  await manager.go(`/projects/${projectId}/settings/source`);
  await manager.page.getByLabel("Clone URL").waitFor();
  expect(await manager.page.getByLabel("Only some domains").count()).toBe(0);
  await manager.close();
});
