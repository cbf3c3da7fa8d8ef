import { afterAll, expect, test } from "bun:test";
import { openConsole, saveBar, saveForms } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { eventually } from "../support/eventually.ts";

interface Project {
  image: string;
  pipeline: { build: { image: string }[] };
}

const { browser, server } = await setUpConsole();
const view = await openConsole(browser, server.url);
afterAll(() => {
  expect(view.faults).toEqual([]);
});

test("image, network, isolation, cache and limits of a project are set in its settings", async () => {
  const { page, go } = view;
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", {
    name: "boxed",
    git: { url: "https://git.example.com/boxed.git" },
    stages: { build: { script: "make" } },
  });
  await go(`/projects/${id}/settings/pipeline`);
  const panel = page.locator("#execution");
  await panel.getByLabel("Container image").fill("node:22 --privileged");
  await panel.getByRole("combobox", { name: "Run on" }).click();
  await page.getByRole("option", { name: /every script in a container/ }).click();
  await panel.getByLabel("Cache folders").fill(".npm");
  await panel.getByLabel("Cache folders").press("Enter");
  await panel.getByLabel("Memory").fill("512");
  await panel.getByLabel("Disk of releases and data").fill("2048");
  await saveBar(page).getByRole("button", { name: "Save" }).click();
  await panel.getByText("must be an image such as node:22").first().waitFor();
  await panel.getByLabel("Container image").fill("node:22");
  await saveForms(page);
  await go(`/projects/${id}/settings/pipeline`);
  await page.getByLabel("Image of build").fill("alpine:3");
  await page.getByLabel("build without network").check();
  await saveForms(page);
  const project = () => server.admin.expect<Project>(200, "GET", `/api/projects/${id}`);
  await eventually("it is saved", async () => (await project()).pipeline.build[0]?.image === "alpine:3");
  expect(await project()).toMatchObject({
    image: "node:22",
    isolation: "container",
    cache: [".npm"],
    limits: { memoryMb: 512, cpus: null, processes: null, nice: 0, diskMb: 2048 },
    stages: { build: { script: "make", image: "alpine:3", network: "none" }, deploy: { script: "" } },
  });
});
