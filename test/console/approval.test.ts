import { afterAll, expect, test } from "bun:test";
import { guardedProject } from "../support/approval-scene.ts";
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
  const second = await server.reach((await server.run(id)).id, "waiting");
  await go(`/tasks/${second.id}`);
  await page.getByRole("button", { name: "Reject", exact: true }).click();
  await page.getByLabel("Reason (shown with the task)").fill("wrong branch");
  await page.getByRole("button", { name: "Reject the deploy" }).click();
  await page.getByText("rejected by admin: wrong branch").first().waitFor();
  expect(deployed().length).toBe(1);
  expect(faults).toEqual([]);
  await close();
});
