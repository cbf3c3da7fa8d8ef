import { expect, test } from "bun:test";
import { setUpApi } from "../support/api-setup.ts";
import { eventually } from "../support/eventually.ts";
import { PushClient } from "../support/push-client.ts";

const readme = await Bun.file(new URL("../../README.md", import.meta.url)).text();

const server = await setUpApi({ "runner.enabled": false }, undefined, "start");

/** The shell example under a heading, and the response below it. */
function exampleUnder(heading: string): { command: string; answer: Record<string, unknown> } {
  const section = readme.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  const command = /```sh\n([\s\S]*?)```/.exec(section)?.[1] ?? "";
  const answer = /```json\n([\s\S]*?)```/.exec(section)?.[1] ?? "null";
  return { command, answer: JSON.parse(answer) as Record<string, unknown> };
}

async function run(command: string, env: Record<string, string>): Promise<Record<string, unknown>> {
  const shell = Bun.spawn(["sh", "-c", command.replaceAll("http://127.0.0.1:8080", server.url)], {
    env: { PATH: process.env.PATH ?? "", ...env },
    stdout: "pipe",
    stderr: "ignore",
  });
  return (await new Response(shell.stdout).json()) as Record<string, unknown>;
}

test("the README's push example reaches the user and answers as documented", async () => {
  const { code } = await server.admin.expect<{ code: string }>(201, "POST", "/api/push/codes", {
    userId: "42",
  });
  const user = await PushClient.open(`${server.url.replace("http", "ws")}/ws?code=${code}`);
  const { command, answer } = exampleUnder("Push something");
  expect(await run(command, {})).toEqual(answer);
  await eventually("the message arrives", () => user.frames.length > 0);
  expect(user.frames).toEqual(["your build is live"]);
  user.socket.close();
});

test("the README's hook example is accepted and answers as documented", async () => {
  const project = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", {
    name: "shop",
    git: { url: "https://git.example.com/shop.git" },
    stages: { build: { script: "make" } },
  });
  const webhook = await server.admin.expect<{ url: string }>(
    200,
    "PUT",
    `/api/projects/${project.id}/webhook`,
    {
      enabled: true,
      secret: "a secret of the README",
    },
  );
  const { command, answer } = exampleUnder("Deploy something");
  const env = { WEBHOOK_URL: webhook.url, WEBHOOK_SECRET: "a secret of the README" };
  const accepted = await run(command, env);
  const message = String(accepted.message).replace(/\d{4}-.*Z/, "…");
  expect<Record<string, unknown>>({ ...accepted, message }).toEqual(answer);
  expect(await run(command, { ...env, WEBHOOK_SECRET: "another" })).toMatchObject({ status: "rejected" });
});
