import { afterAll, beforeAll, expect, test } from "bun:test";
import { postReceiveHook } from "../../console/pages/webhook/post-receive.ts";
import { type ApiServer, startApiServer } from "../support/api-server.ts";
import { makeRepository } from "../support/git-repository.ts";

let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer();
});
afterAll(() => server.stop());

const secret = "the secret of the sender";

test.each([
  {},
  { secret, verifyMode: "token" },
  { secret, verifyMode: "hmac" },
  { secret, verifyMode: "standard" },
])("the hook that the console shows for %j reports a push, ready to paste", async (settings) => {
  const repository = await makeRepository();
  const project = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", {
    name: JSON.stringify(settings).slice(0, 100),
    git: { url: "https://git.example.com/shop.git" },
  });
  const webhook = await server.admin.expect<Parameters<typeof postReceiveHook>[1] & { url: string }>(
    200,
    "PUT",
    `/api/projects/${project.id}/webhook`,
    { enabled: true, provider: "generic", ...settings },
  );
  repository.hook("post-receive", postReceiveHook(webhook.url, webhook, secret));
  const commit = await repository.push({ "a.txt": "1" }, { message: 'It\'s "quoted"' });
  const { items } = await server.admin.expect<{ items: object[] }>(
    200,
    "GET",
    `/api/webhooks/deliveries?projectId=${project.id}`,
  );
  const username = (await Bun.$`id -un`.text()).trim();
  const isShared = username === "root" || username === "git";
  const author = isShared ? await repository.git("log", "-1", "--format=%an") : username;
  expect(items).toMatchObject([{ status: "accepted", commit, commit_message: 'It\'s "quoted"', author }]);
  repository.remove();
});
