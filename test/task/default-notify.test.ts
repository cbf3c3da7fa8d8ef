import { afterAll, expect, test } from "bun:test";
import { standardDigest } from "../../src/standard-webhooks.ts";
import { startApiServer } from "../support/api-server.ts";
import { setUpDeploy } from "../support/deploy-setup.ts";
import { receiveNotifications } from "../support/notification-receiver.ts";

const { server, repository } = await setUpDeploy({ "tasks.allowInternalNotifications": true });
const notifications = receiveNotifications();
afterAll(() => notifications.stop());
await repository.push({ "app.txt": "hello\n" });
const { admin } = server;
const secret = "a secret of the default target";

test("the default target receives the messages of every project that does not exclude it, signed with its own secret", async () => {
  expect(await admin.expect(200, "GET", "/api/default-notify")).toEqual({ target: null });
  const address = { url: `${notifications.url}hooks/deploys`, events: ["task.succeeded"], secret };
  const set = await admin.expect(200, "PUT", "/api/default-notify", address);
  expect(set).toMatchObject({ target: { id: "default", format: "slipway", secretSet: true } });
  expect(JSON.stringify(set)).not.toContain(secret);
  const included = await server.project(repository.url, { build: "true" });
  const excluded = await server.project(repository.url, { build: "true" }, { defaultNotify: false });
  const silent = await server.run(excluded);
  await server.reach(silent.id, "success");
  const task = await server.run(included);
  const { headers, body } = await notifications.event(task.id, "task.succeeded");
  const [id, time] = [headers.get("webhook-id") ?? "", headers.get("webhook-timestamp") ?? ""];
  const digest = standardDigest(secret, id, time, body).toString("base64");
  expect(headers.get("webhook-signature")).toBe(`v1,${digest}`);
  expect(notifications.received.map(({ json }) => json.data.task.id)).toEqual([task.id]);

  await admin.expect(200, "PUT", "/api/default-notify", { logLines: 3 });
  expect(await admin.expect(200, "POST", "/api/default-notify/test")).toMatchObject({ delivered: true });
  await admin.expect(204, "DELETE", "/api/default-notify");
  expect(await admin.expect(200, "GET", "/api/default-notify")).toEqual({ target: null });
  expect((await admin.request("POST", "/api/default-notify/test")).status).toBe(404);
});

test("an internal address is refused when it is saved, unless such addresses are allowed", async () => {
  const guarded = await startApiServer();
  try {
    for (const url of ["http://127.0.0.1:9/hook", "http://[::1]/hook", "http://10.0.0.1/"]) {
      const { status, body } = await guarded.admin.request("PUT", "/api/default-notify", { url });
      expect(status).toBe(422);
      expect(body).toMatchObject({
        error: { fields: [{ field: "url", messageParts: [{ code: "address_internal" }] }] },
      });
    }
    expect(await guarded.admin.expect(200, "GET", "/api/default-notify")).toEqual({ target: null });
  } finally {
    await guarded.stop();
  }
});

test("an address that does not fit is refused at its field", async () => {
  const { status, body } = await admin.request("PUT", "/api/default-notify", {
    format: "telegram",
    url: "https://api.telegram.org/bot1/x",
  });
  expect(status).toBe(422);
  expect(body).toMatchObject({ error: { fields: [{ field: "url" }] } });
});
