import { afterAll, expect, test } from "bun:test";
import { guardedProject, memberOf } from "../support/approval-scene.ts";
import { violations } from "../support/axe.ts";
import { becomesLive, openConsole } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { makeRepository } from "../support/git-repository.ts";

const { browser, server } = await setUpConsole();
const repository = await makeRepository();
const commit = await repository.push({ "readme.md": "hello" });
afterAll(() => repository.remove());

test("a request appears on an open page by itself; it is approved, and another one is rejected with a reason", async () => {
  const { id, deployed } = await guardedProject(server, { url: repository.url, dataDir: server.dataDir });
  const { page, go, faults, close } = await openConsole(browser, server.url);
  await go("/runners");
  await becomesLive(page);
  // The notification closes by itself, so it is waited for before its cause.
  const notification = page.getByText(/Task \d+ of .* waits for your approval/);
  const [first] = await Promise.all([
    server.run(id).then((task) => server.reach(task.id, "waiting")),
    notification.waitFor(),
  ]);
  await go(`/tasks/${first.id}`);
  await page
    .getByText(/Waiting for approval until/)
    .first()
    .waitFor();
  await page.getByRole("button", { name: "Approve", exact: true }).click();
  await page.getByLabel("Comment (optional)").fill("looks right");
  await page.getByRole("button", { name: "Approve the deploy" }).click();
  await page.locator('.task-facts .state[data-state="success"]').waitFor();
  expect(deployed()).toEqual([`${commit} red 1`]);
  expect((await server.task(first.id)).approval).toMatchObject({ by: "admin", comment: "looks right" });
  const answer = page.locator(".approval-record");
  await answer.getByText(/^Approved by admin .+\. It had waited .+ sec\./).waitFor();
  await answer.getByText("looks right").waitFor();
  await answer.locator("time").waitFor();
  await server.admin.expect(200, "PATCH", `/api/projects/${id}`, { env: { COLOR: "blue" } });
  const next = await repository.push({ "readme.md": "bye" }, { message: "Say goodbye" });
  const second = await server.reach((await server.run(id)).id, "waiting");
  await go(`/tasks/${second.id}`);
  const request = page.getByRole("region", { name: "This deploy waits for an approval" });
  const commits = request.getByRole("list", { name: "Pushes of the deploy" });
  await commits.getByText("Say goodbye").waitFor();
  await request.getByRole("heading", { name: `Pushes since ${commit.slice(0, 7)}, which serves` }).waitFor();
  expect(await commits.getByRole("link").allTextContents()).toEqual([next.slice(0, 7)]);
  expect(await request.locator("tbody tr").allTextContents()).toEqual(["COLORredblue"]);
  // One place: no other part of the page repeats the request or its answers.
  const said = page.locator("p, .mantine-Alert-root").filter({ hasText: "Waiting for approval until" });
  expect(await said.count()).toBe(1);
  expect(await page.getByRole("button", { name: "Approve", exact: true }).count()).toBe(1);
  const home = page.locator(".side").getByRole("link", { name: /^Home/ });
  await home.getByText("1 approval", { exact: true }).waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await violations(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  await page.getByRole("button", { name: "Reject", exact: true }).click();
  await page.getByLabel("Reason (shown with the task)").fill("wrong branch");
  await page.getByRole("button", { name: "Reject the deploy" }).click();
  await page.getByText("rejected by admin: wrong branch").first().waitFor();
  expect(deployed().length).toBe(1);
  await page.getByRole("button", { name: "Run again" }).click();
  await page.getByRole("dialog").getByText("The deploy waits for an approval").waitFor();
  expect(faults).toEqual([]);
  await close();
});

test("the page says who may approve and why others may not; an administrator who is left alone gives a reason", async () => {
  const place = { url: repository.url, dataDir: server.dataDir };
  const { id, deployed } = await guardedProject(server, place, { notByPusher: true });
  const { page, go, faults, close } = await openConsole(browser, server.url);
  const task = await server.reach((await server.run(id)).id, "waiting");
  await memberOf(server, id, "eyes-ann");
  await go(`/tasks/${task.id}`);
  const request = page.getByRole("region", { name: "This deploy waits for an approval" });
  await request.getByText("May approve it: eyes-ann").waitFor();
  await request.getByText("This is the first deploy:").waitFor();
  await request.getByText("1 manager has a part in it and may not approve it").click();
  await request.getByText("admin changed what it deploys: env, git, name, pipeline.").waitFor();
  expect(await page.getByRole("button", { name: "Approve", exact: true }).count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  const other = await guardedProject(server, place, { notByPusher: true });
  const alone = await server.reach((await server.run(other.id)).id, "waiting");
  await go(`/tasks/${alone.id}`);
  await request.getByText("An administrator may approve it with a written reason").waitFor();
  await page.getByRole("button", { name: "Approve", exact: true }).click();
  await page.getByLabel("Reason (kept in the audit log").fill("no");
  await page.getByRole("button", { name: "Approve the deploy" }).click();
  expect((await server.task(alone.id)).state).toBe("waiting");
  await page.getByLabel("Reason (kept in the audit log").fill("I work alone");
  await page.getByRole("button", { name: "Approve the deploy" }).click();
  await page
    .getByText(/^Approved by admin .+, because nobody else was left who may: I work alone\./)
    .waitFor();
  await server.reach(alone.id, "success");
  expect([deployed().length, other.deployed().length]).toEqual([0, 1]);
  expect(faults).toEqual([]);
  await close();
});
