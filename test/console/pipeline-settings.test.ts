import { afterAll, expect, test } from "bun:test";
import { openConsole, saveBar, saveForms } from "../support/console-page.ts";
import { setUpConsole } from "../support/console-setup.ts";
import { eventually } from "../support/eventually.ts";

const { browser, server } = await setUpConsole({ "runner.enabled": false });
const view = await openConsole(browser, server.url);
afterAll(() => {
  expect(view.faults).toEqual([]);
});

interface Project {
  image: string;
  stages: unknown;
  pipeline: { build: { name: string; script: string; image: string }[]; deploy: { host: boolean }[] };
}

test("the pipeline can come from a file of the repository, and back", async () => {
  const { page, go } = view;
  const git = { url: "https://git.example.com/file.git" };
  const body = { name: "file", git, stages: { build: { script: "make" } } };
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", body);
  const fileOf = async () =>
    (await server.admin.expect<{ pipelineFile: object | null }>(200, "GET", `/api/projects/${id}`))
      .pipelineFile;
  await go(`/projects/${id}/settings/pipeline`);
  await page.getByText("from the repository", { exact: true }).click();
  expect(await page.getByRole("textbox", { name: "build", exact: true }).count()).toBe(0);
  await page.getByLabel("File").fill("../pipeline.yaml");
  await saveBar(page).getByRole("button", { name: "Save", exact: true }).click();
  await page
    .getByText("must be a file inside the repository, such as .slipway.yaml", { exact: true })
    .waitFor();
  await page.getByLabel("File").fill("deploy/pipeline.yaml");
  await saveForms(page);
  await page.getByText("No deploy has read the file yet.").waitFor();
  expect(await fileOf()).toEqual({ path: "deploy/pipeline.yaml", ports: {}, withoutNetwork: [] });
  await page.getByText("in these settings", { exact: true }).click();
  await saveForms(page);
  await eventually("the project has its own pipeline", async () => (await fileOf()) === null);
  await page.getByRole("textbox", { name: "build", exact: true }).waitFor();
});

test("a stage gets further steps, which are named, moved and removed", async () => {
  const { page, go } = view;
  const git = { url: "https://git.example.com/steps.git" };
  const body = { name: "steps", git, stages: { build: { script: "make" }, deploy: { script: "ship" } } };
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", body);
  const project = () => server.admin.expect<Project>(200, "GET", `/api/projects/${id}`);
  const stepsOf = async () =>
    (await project()).pipeline.build.map(({ name, script }) => `${name}: ${script}`);
  await go(`/projects/${id}/settings/pipeline`);
  await page.getByRole("button", { name: "Add a step to build" }).click();
  await page.getByRole("textbox", { name: "build/build-2", exact: true }).fill("make test");
  await page.getByLabel("Name of build/build-2").fill("test");
  await page.getByLabel("deploy outside of the sandbox").check();
  await saveForms(page);
  await eventually("the steps are saved", async () => (await stepsOf()).length === 2);
  expect(await stepsOf()).toEqual(["build: make", "test: make test"]);
  const saved = await project();
  expect([saved.stages, saved.pipeline.deploy[0]?.host]).toEqual([null, true]);
  await page.getByRole("button", { name: "Move build/test up" }).click();
  await saveForms(page);
  await eventually("the order is saved", async () => (await stepsOf())[0] === "test: make test");
  await page.getByRole("button", { name: "Remove build", exact: true }).click();
  await saveForms(page);
  await eventually("the step is gone", async () => (await stepsOf()).length === 1);
  await go(`/projects/${id}`);
  await page.getByText("These steps run outside of the sandbox, as the runner's user: deploy.").waitFor();
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

test("stages are grouped, without what does not apply; a check of another kind begins with a suggestion", async () => {
  const id = await server.project("https://git.example.com/shop.git", { build: "make" }, { name: "shop" });
  const { page, go } = view;
  await go(`/projects/${id}/settings/pipeline`);
  const groups = page.locator("legend");
  await groups.first().waitFor();
  expect(await groups.allTextContents()).toEqual(["Scripts"]);
  const healthCheck = { type: "tcp", host: "127.0.0.1", port: 3000, timeoutSeconds: 7 };
  await server.admin.expect(200, "PATCH", `/api/projects/${id}`, {
    stages: { start: { script: "node server.js &", healthCheck } },
  });
  await go(`/projects/${id}/settings/pipeline`);
  const check = page.getByLabel("Port, or host and port");
  await check.waitFor();
  expect(await check.inputValue()).toBe("127.0.0.1:3000");
  expect(await groups.allTextContents()).toEqual(["Scripts", "Release and rollback", "Approval"]);
  await page.getByRole("combobox", { name: "Check of web" }).click();
  await page.getByRole("option", { name: /HTTP/ }).click();
  expect(await page.getByLabel("Path or URL").inputValue()).toBe("/");
  expect(await page.getByLabel("Time limit of the health check").inputValue()).toBe("7 s");
  await page.getByRole("button", { name: "Discard" }).click();
  await check.waitFor();
});
