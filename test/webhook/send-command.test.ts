import { expect, test } from "bun:test";
import { sendCommand } from "../../console/pages/webhook/send-command.ts";
import { setUpApi } from "../support/api-setup.ts";

const server = await setUpApi();

const secret = "the secret of the sender";

test.each([
  {},
  { secret, verifyMode: "token", secretHeader: "X-Own-Token" },
  { secret, verifyMode: "hmac", signatureEncoding: "hex", signaturePrefix: "sha256=" },
  { secret, verifyMode: "hmac", signatureEncoding: "base64" },
  { secret, verifyMode: "standard" },
])("the command that the console shows for %j is accepted when a shell runs it", async (settings) => {
  const project = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", {
    name: JSON.stringify(settings).slice(0, 100),
    git: { url: "https://git.example.com/shop.git" },
  });
  const path = `/api/projects/${project.id}/webhook`;
  const body = { enabled: true, provider: "generic", ...settings };
  const webhook = await server.admin.expect<Parameters<typeof sendCommand>[1] & { url: string }>(
    200,
    "PUT",
    path,
    body,
  );
  const command = sendCommand(webhook.url, webhook, secret);
  const shell = Bun.spawn(["sh", "-c", command], { stdout: "pipe", stderr: "ignore" });
  expect(await new Response(shell.stdout).json()).toMatchObject({ status: "accepted" });
});
