import { expect, test } from "bun:test";
import { violations } from "../support/axe.ts";
import { openConsole, saveForms, wide } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";

const { browser, server } = await setUpConsole({ "runner.enabled": false });
const { admin } = server;

interface Owner {
  id: number;
}

test("a group has variables and secrets, and its project shows them with what hides them", async () => {
  const { id } = await admin.expect<Owner>(201, "POST", "/api/groups", { name: "Web" });
  const projectId = await server.project(
    "https://git.example.com/shop.git",
    { build: "make" },
    { name: "shop", groupId: id, env: { COLOR: "blue" } },
  );
  const { page, faults, go, close } = await openConsole(browser, server.url, wide);
  const panel = (title: string) =>
    page.locator(".panel").filter({ has: page.getByRole("heading", { name: title, exact: true }) });
  await go(`/projects/${projectId}/settings/variables`);
  await panel("From the group").getByText("The group has no variables and no secrets.").waitFor();

  await go("/groups");
  await page.getByRole("link", { name: "Variables and secrets" }).click();
  await page.getByRole("heading", { name: "Web" }).waitFor();
  const variables = panel("Environment variables");
  for (const [at, [name, value]] of [["COLOR", "red"] as const, ["REGION", "north"] as const].entries()) {
    await variables.getByRole("button", { name: "Add a variable" }).click();
    await variables.getByLabel("Name").nth(at).fill(name);
    await variables.getByLabel(`Value of ${name}`).fill(value);
  }
  await saveForms(page);
  await page.getByText("Saved.").first().waitFor();
  const secrets = panel("Secrets");
  await secrets.getByLabel("Name").fill("TOKEN");
  await secrets.getByLabel("Value").first().fill("hunter2hunter2");
  await secrets.getByRole("button", { name: "Store the secret" }).click();
  await secrets.getByRole("button", { name: "Delete TOKEN" }).waitFor();
  expect(await admin.expect(200, "GET", `/api/groups/${id}`)).toMatchObject({
    env: { COLOR: "red", REGION: "north" },
    secrets: [{ name: "TOKEN", scope: "deploy", as: "variable" }],
  });
  expect(await violations(page)).toEqual([]);

  await go(`/projects/${projectId}/settings/variables`);
  const row = (name: string) => panel("From the group").getByRole("row").filter({ hasText: name });
  await row("REGION").getByText("north").waitFor();
  expect(await row("REGION").textContent()).toContain("from group Web");
  expect(await row("REGION").textContent()).not.toContain("hidden");
  expect(await row("COLOR").textContent()).toContain("hidden by the project's variable");
  expect(await row("TOKEN").textContent()).toContain("secret, Only deploy and start");
  // A secret of the project hides that of the group at once.
  await panel("Secrets").getByLabel("Name").fill("TOKEN");
  await panel("Secrets").getByLabel("Value").first().fill("own-token-value");
  await panel("Secrets").getByRole("button", { name: "Store the secret" }).click();
  await row("TOKEN").getByText("hidden by the project's secret").waitFor();
  expect(await violations(page)).toEqual([]);

  await go(`/groups/${id}`);
  await panel("Secrets").getByRole("button", { name: "Delete TOKEN" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete the secret" }).click();
  await panel("Secrets").getByText("No secrets yet.").waitFor();
  expect(faults).toEqual([]);
  await close();
});
