import { afterAll, expect, test } from "bun:test";
import { serviceDefaults } from "../../src/model/service/service.ts";
import { openConsole, saveBar, saveForms } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { eventually } from "../support/eventually.ts";

const { browser, server } = await setUpConsole({ "runner.enabled": false });
const view = await openConsole(browser, server.url);
afterAll(() => {
  expect(view.faults).toEqual([]);
});

interface Project {
  id: number;
  pipeline: { start: object };
  rollbackWithin: number;
}

async function projectOf(body: object) {
  const git = { url: "https://git.example.com/services.git" };
  const { id } = await server.admin.expect<Project>(201, "POST", "/api/projects", { git, ...body });
  return { id, read: () => server.admin.expect<Project>(200, "GET", `/api/projects/${id}`) };
}

test("two services are added with their fields, and what the server refuses is shown at its field", async () => {
  const { page, go } = view;
  const { id, read } = await projectOf({ name: "two services" });
  await go(`/projects/${id}/settings/pipeline`);
  const add = page.getByRole("button", { name: "Add a service" });
  await add.click();
  await page.getByRole("textbox", { name: "web", exact: true }).fill("node server.js");
  await page.getByRole("combobox", { name: "Check of web" }).click();
  await page.getByRole("option", { name: /HTTP/ }).click();
  await page.getByLabel("Path or URL").fill("healthz");
  await add.click();
  const worker = page.getByRole("region", { name: "Service worker" });
  await page.getByRole("textbox", { name: "worker", exact: true }).fill("node worker.js");
  await worker.getByText("Restart, times, image").click();
  await worker.getByRole("combobox", { name: "When worker ends" }).click();
  await page.getByRole("option", { name: "start it again after a failure" }).click();
  await worker.getByLabel("Memory in MB of worker").fill("128");
  await worker.getByRole("button", { name: "Add a variable to worker" }).click();
  await worker.getByLabel("Name of a variable of worker").fill("QUEUE");
  await worker.getByLabel("Value of QUEUE of worker").fill("mail");
  await worker.getByLabel("Name of the service worker").fill("web");
  await page.getByText("another service has this name").waitFor();
  await page
    .getByRole("region", { name: "Service web" })
    .last()
    .getByLabel("Name of the service web")
    .fill("mailer");
  await saveBar(page).getByRole("button", { name: "Save" }).click();
  await page.getByText("must be a path such as /healthz").first().waitFor();
  await page.getByLabel("Path or URL").fill("/healthz");
  await page.getByLabel("Minutes in which a crash loop").fill("30");
  await saveForms(page);
  await eventually("the services are saved", async () => !Array.isArray((await read()).pipeline.start));
  const saved = await read();
  const check = { http: "/healthz", tcp: "", command: "", expect: "", within: 60 };
  expect(saved.pipeline.start).toEqual({
    web: { ...serviceDefaults, command: "node server.js", check },
    mailer: {
      ...serviceDefaults,
      ...{ command: "node worker.js", port: "none", restart: "on-failure", env: { QUEUE: "mail" } },
      limits: { ...serviceDefaults.limits, memoryMb: 128 },
    },
  });
  expect(saved.rollbackWithin).toBe(30);
  await page.getByRole("button", { name: "Remove the service mailer" }).click();
  await saveForms(page);
  await eventually("one is left", async () => Object.keys((await read()).pipeline.start).join() === "web");
});

test("a script of version 1.0 warns on the project's page, and becomes steps or a service by the form", async () => {
  const { page, go } = view;
  const stages = { start: { script: "node a.js &\nnode b.js &" } };
  const { id, read } = await projectOf({ name: "scripts", stages });
  await go(`/projects/${id}`);
  await page
    .getByText("start script of version 1.0 that leaves processes in the background")
    .first()
    .waitFor();
  await go(`/projects/${id}/settings/pipeline`);
  await page.getByLabel("web leaves processes in the background").waitFor();
  await page.getByText("steps that run to their end").click();
  await page.getByRole("textbox", { name: "start", exact: true }).fill("systemctl restart shop");
  await page.getByLabel("start never runs again at a rollback").check();
  await saveForms(page);
  await eventually("the steps are saved", async () => Array.isArray((await read()).pipeline.start));
  expect((await read()).pipeline.start).toMatchObject([
    { name: "start", script: "systemctl restart shop", once: true },
  ]);
});
