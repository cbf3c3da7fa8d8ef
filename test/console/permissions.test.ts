import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { userPassword } from "../support/api-server.ts";
import { type ConsolePage, openConsole, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";

const { browser, server } = await setUpConsole({ "runner.enabled": false });

async function newUser(username: string): Promise<number> {
  const body = { username, password: userPassword };
  return (await server.admin.expect<{ id: number }>(201, "POST", "/api/users", body)).id;
}

function openAs(username: string): Promise<ConsolePage> {
  return openConsole(browser, server.url, wide, { username, password: userPassword });
}

/** Buttons of the page, without those of the navigation. */
function offered(page: Page): Promise<string[]> {
  const buttons = page.locator("main").getByRole("button");
  return buttons.evaluateAll((all) =>
    all.map((button) => button.getAttribute("aria-label") ?? button.textContent),
  );
}

/** Editable fields. */
function changeable(page: Page): Promise<string[]> {
  return page
    .locator("main :is(input, textarea):enabled:not([readonly]):not([type=hidden])")
    .evaluateAll((fields) => fields.map((field) => field.outerHTML));
}

/** Fields with the frame of an input, and the arrows of lists and numbers. */
function looksEditable(page: Page): Promise<string[]> {
  return page
    .locator("main :is(input:not([type=checkbox]), textarea, .mantine-PillsInput-input, .script-editor)")
    .or(page.locator("main .mantine-Input-section"))
    .evaluateAll((fields) =>
      fields
        .filter((field) => field.checkVisibility())
        .filter((field) => {
          const { borderTopWidth, borderTopColor } = getComputedStyle(field);
          const isFramed = borderTopWidth !== "0px" && borderTopColor !== "rgba(0, 0, 0, 0)";
          return isFramed || field.classList.contains("mantine-Input-section");
        })
        .map((field) => field.outerHTML.slice(0, 200)),
    );
}

test("a viewer of a project sees its settings and its webhook, without buttons that the server would refuse", async () => {
  const id = await server.project(
    "https://git.example.com/shop.git",
    { build: "make" },
    {
      name: "shop",
      env: { NODE_ENV: "production" },
      notify: [{ url: "https://chat.example.com/hook", events: ["task.failed"] }],
      labels: ["linux"],
    },
  );
  const project = `/api/projects/${id}`;
  await server.admin.expect(200, "PUT", `${project}/webhook`, {
    enabled: true,
    secret: "a secret of the host's",
    branchFilter: ["main"],
  });
  await server.admin.expect(204, "PUT", `${project}/secrets/DEPLOY_TOKEN`, { value: "hunter2hunter2" });
  const task = await server.run(id);
  await server.admin.expect(200, "PUT", `${project}/members/${await newUser("vera")}`, {
    permission: "view",
  });
  const { page, faults, go, close } = await openAs("vera");

  await go("/");
  await page.getByRole("link", { name: "shop" }).waitFor();
  expect(await offered(page)).toEqual([]);

  const readable = ["Fold the connection", "Copy the address", "Copy the hook", "Copy the command"];
  const settings: Record<string, () => Promise<unknown>> = {
    source: () => page.getByRole("button", { name: "Copy the address" }).waitFor(),
    pipeline: async () => {
      expect(await page.getByRole("textbox", { name: "build", exact: true }).inputValue()).toBe("make");
      await page.getByLabel("Container image").waitFor();
    },
    variables: async () => {
      await page.getByRole("cell", { name: "DEPLOY_TOKEN" }).waitFor();
      expect(await page.getByLabel("Value of NODE_ENV").inputValue()).toBe("production");
    },
    access: () =>
      page.getByRole("table", { name: "Who has access to the project" }).getByText("vera").waitFor(),
    notifications: async () => {
      await page.getByText("No signing key is stored").waitFor();
      await page.getByText("No token is stored").waitFor();
    },
  };
  for (const [section, shows] of Object.entries(settings)) {
    await go(`/projects/${id}/settings/${section}`);
    await page.locator(".panel").first().waitFor();
    await shows();
    expect(await offered(page)).toEqual(section === "source" ? readable : []);
    expect(await changeable(page)).toEqual([]);
    expect(await looksEditable(page)).toEqual([]);
  }
  await go(`/projects/${id}/settings`);
  await page.getByRole("button", { name: "Copy the address" }).waitFor();
  expect(await page.getByRole("button", { name: "Delete the project" }).count()).toBe(0);

  await go(`/projects/${id}/settings/rules`);
  await page.getByText("What starts a deploy").waitFor();
  expect(await offered(page)).toEqual(readable);
  expect(await changeable(page)).toEqual([]);
  expect(await looksEditable(page)).toEqual([]);

  await go(`/tasks/${task.id}`);
  await page.getByRole("link", { name: "shop" }).waitFor();
  for (const name of ["Cancel", "Run again", "Roll back to this release"])
    expect(await page.getByRole("button", { name }).count()).toBe(0);

  await server.admin.expect(200, "PUT", `${project}/members/2`, { permission: "manage" });
  await go(`/projects/${id}/settings`);
  await page.getByRole("button", { name: "Start a deploy" }).waitFor();
  await page.getByRole("button", { name: "Delete the project" }).waitFor();
  expect(await page.getByText("You may view this project.").count()).toBe(0);
  expect(faults).toEqual([]);
  await close();
});

test("the manager of a group can add a project to it; other users have no such button", async () => {
  const userId = await newUser("max");
  const makeGroup = async (name: string, permission: "view" | "manage") => {
    const group = await server.admin.expect<{ id: number }>(201, "POST", "/api/groups", { name });
    await server.admin.expect(200, "PUT", `/api/groups/${group.id}/members/${userId}`, { permission });
    return group.id;
  };
  await makeGroup("Back office", "view");
  const { page, faults, go, close } = await openAs("max");
  const add = page.getByRole("link", { name: "Add a project" });
  await go("/groups");
  await page.getByRole("table", { name: "Members of the group" }).getByText("max").waitFor();
  expect(await page.getByRole("button", { name: "Remove max" }).count()).toBe(0);
  await go("/");
  await page.getByText("No project is shared with you yet").waitFor();
  expect(await page.locator(".page-about").count()).toBe(0);
  expect(await add.count()).toBe(0);

  await makeGroup("Storefront", "manage");
  const mobileId = await makeGroup("Mobile", "manage");
  await go("/");
  await add.click();
  const form = page.locator("main form");
  await form.getByLabel("Clone URL").fill("https://git.example.com/app.git");
  await form.getByRole("button", { name: "Continue without reading the repository" }).click();
  await form.getByLabel("Name").fill("app");
  const submit = form.getByRole("button", { name: "Add the project" });
  await submit.click();
  await form.getByRole("combobox", { name: "Group" }).click();
  await page.getByRole("option").first().waitFor();
  expect((await page.getByRole("option").allTextContents()).sort()).toEqual(["Mobile", "Storefront"]);
  await page.getByRole("option", { name: "Mobile" }).click();
  await submit.click();
  await page.waitForURL("**/set-up");
  const { items } = await server.admin.expect<{ items: object[] }>(200, "GET", "/api/projects?search=app");
  expect(items).toMatchObject([{ name: "app", groupId: mobileId }]);
  expect(faults).toEqual([]);
  await close();
});
