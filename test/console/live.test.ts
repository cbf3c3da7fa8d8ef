import { expect, test } from "bun:test";
import { userPassword } from "../support/api-server.ts";
import { becomesLive, openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { eventually } from "../support/eventually.ts";

/** Only the deploy service may close connections of the console with a code of its choice. */
const deployKey = "the key of the deploy service";

const { browser, server } = await setUpConsole({ "push.deploy-key": deployKey });

const gitUrl = "https://git.example.com/shop.git";

test("the first project that is shared with a user appears without a reload, on Home", async () => {
  const account = { username: "nora", password: userPassword };
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/users", account);
  const { page, go, close } = await openConsole(browser, server.url, wide, account);
  await go("/");
  await page.getByText("No project is shared with you yet").waitFor();
  await becomesLive(page);
  const shopId = await server.project(gitUrl, {}, { name: "shop" });
  await server.admin.expect(200, "PUT", `/api/projects/${shopId}/members/${id}`, { permission: "view" });
  await page.getByRole("table", { name: "Projects" }).getByRole("link", { name: "shop" }).waitFor();
  await close();
});

test("when the session of its connection has ended, the page opens another connection with the current session", async () => {
  const { page, go, close } = await openConsole(browser, server.url);
  await go("/activity");
  await becomesLive(page);
  const admin = "slipway:1";
  const openIds = async () => {
    const path = `/api/push/connections?userId=${admin}`;
    type Report = { connections: { connectionId: string }[] };
    const { connections } = await server.admin.expect<Report>(200, "GET", path);
    return connections.map(({ connectionId }) => connectionId);
  };
  const [before] = await openIds();
  const ended = await fetch(`${server.url}/feign/disconnect`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": deployKey },
    body: JSON.stringify({ userId: admin, code: 4003 }),
  });
  expect(ended.status).toBe(200);
  await eventually("another connection", async () => {
    const ids = await openIds();
    return ids.length === 1 && ids[0] !== before;
  });
  await becomesLive(page);
  await close();
});

test("a delivery to an unknown key appears for admins, although it belongs to no project", async () => {
  const { page, go, close } = await openConsole(browser, server.url);
  await go("/activity?show=all");
  await becomesLive(page);
  await page.getByText("Nothing has run yet").waitFor();
  const hook = await server.admin.expect<{ url: string }>(200, "PUT", "/api/projects/1/webhook", {
    enabled: true,
  });
  const send = async (url: string) => (await fetch(url, { method: "POST", body: "{}" })).status;
  await send(hook.url);
  await page.getByRole("listitem").filter({ hasText: "shop" }).waitFor();
  expect(await send(`${server.url}/api/hooks/git/${"x".repeat(43)}`)).toBe(404);
  await page.getByRole("listitem").filter({ hasText: "no project" }).waitFor();
  await close();
});

test("with more projects than one connection can follow, changes of the last one appear too", async () => {
  const names = Array.from({ length: 104 }, (_, index) => `project ${String(index).padStart(3, "0")}`);
  const ids: number[] = [];
  for (const name of names) ids.push(await server.project(gitUrl, {}, { name }));
  const run = async (index: number) => server.run(ids.at(index) ?? 0);
  const { page, go, close } = await openConsole(browser, server.url);
  await go("/activity");
  await becomesLive(page);
  await page.getByText("Nothing has run yet").waitFor();
  // Events of the first task arrive; after its end the connection is idle.
  await run(0);
  await page.getByRole("listitem").filter({ hasText: "project 000" }).filter({ hasText: "failed" }).waitFor();
  await run(-1);
  await page.getByRole("listitem").filter({ hasText: "project 103" }).waitFor();
  await close();
});
