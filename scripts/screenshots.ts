/** Takes the screenshots in docs/images, from an installation with the data of the console tests. */
import { join } from "node:path";
import { startBrowser } from "../test/support/browser.ts";
import { becomesLive, openConsole } from "../test/support/console-page.ts";
import { hostile, startScene } from "../test/support/console-scene.ts";
import { makeRepository } from "../test/support/git-repository.ts";

const images = join(import.meta.dir, "../docs/images");
const viewport = { width: 1280, height: 800 };

const build = String.raw`
c() { printf '\033[%sm%b\033[0m\n' "$1" "$2"; }
c 1 '> shop@2.4.1 build'
printf '\033[36minfo\033[0m  node v24.3.0, npm 11.4.2\n'
printf '\033[36minfo\033[0m  installed 412 packages in 3.1 s\n'
printf '\033[33mwarn\033[0m  the setting \033[1mtarget\033[0m is deprecated, use \033[1mengines\033[0m\n'
printf '\033[36minfo\033[0m  checking types\n'
for f in cart checkout search account; do printf '\033[32m  \342\234\223\033[0m %-18s \033[90m48 kB\033[0m\n' "$f.js"; done
c 32 '\342\234\223 built in 1.42 s'
printf '\033[1mTests\033[0m  \033[32m318 passed\033[0m, \033[90m0 failed\033[0m (2.8 s)\n'`;

const scene = await startScene();
const { items } = await scene.server.admin.expect<{ items: { id: number; name: string }[] }>(
  200,
  "GET",
  "/api/projects",
);
for (const { id, name } of items)
  if (name === hostile) await scene.server.admin.expect(204, "DELETE", `/api/projects/${id}`);
const repository = await makeRepository();
await repository.push({ "package.json": "{}" }, { message: "Remember the basket between visits" });
const projectId = await scene.server.project(
  repository.url,
  {
    build,
    deploy: "echo 'web-1: 214 files, 3 changed'; echo 'web-2: copying…'; sleep 120",
    start: "true",
  },
  { name: "storefront" },
);
const task = await scene.server.run(projectId);
await scene.server.logged(task.id, "copying");

const browser = await startBrowser();

const dark = await openConsole(browser, scene.server.url, { viewport, colorScheme: "dark" });
await dark.go("/");
await dark.page.getByRole("table", { name: "Projects" }).waitFor();
await becomesLive(dark.page);
await dark.page.screenshot({ path: join(images, "home.png") });
await dark.go(`/tasks/${task.id}`);
await dark.page.getByText("copying…").waitFor();
await becomesLive(dark.page);
await dark.page.screenshot({ path: join(images, "task.png") });

const light = await openConsole(browser, scene.server.url, { viewport, colorScheme: "light" });
await light.go("/deliveries/2");
// As high as the step at which it stopped.
await light.page.setViewportSize({ ...viewport, height: 950 });
await light.page.getByText("stopped here").waitFor();
await light.page.screenshot({ path: join(images, "delivery.png") });
await light.page.setViewportSize(viewport);

await light.go(`/projects/${scene.shopId}/settings/rules`);
const branches = light.page.getByRole("combobox", { name: "Branches" });
await branches.fill("try-*");
await branches.press("Enter");
await light.page.getByText("would change:").waitFor();
await light.page.screenshot({ path: join(images, "webhook.png") });

await browser.close();
await scene.server.admin.expect(200, "POST", `/api/tasks/${task.id}/cancel`);
await scene.server.reach(task.id, "canceled");
await scene.close();
repository.remove();
