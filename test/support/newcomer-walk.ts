import { expect } from "bun:test";
import { type ApiClient, signInAt } from "./api-server.ts";
import { eventually } from "./eventually.ts";
import { PushClient } from "./push-client.ts";

const readme = await Bun.file(new URL("../../README.md", import.meta.url)).text();

/** A way to run the program, with the environment that it needs. */
export interface NewcomersProgram {
  /** Starts the server; its data outlives it. */
  server: readonly string[];
  /** Put before the words of another command. */
  command: readonly string[];
  url: string;
  env: Record<string, string>;
}

/** The first hour with a server, by the README: nothing is set up but its address and the folder of its data. */
export async function walkAsNewcomer(program: NewcomersProgram): Promise<void> {
  const { url } = program;
  const first = await startServer(program);
  const [, password = ""] = /password (\S{20}) \(shown this once\)/.exec(first.said()) ?? [];
  expect(password).not.toBe("");
  await expectConsole(url);
  const admin = await signInAt(url, "admin", password);
  await trySample(admin);
  await publishByReadme(url, admin);
  const delivery = await deliverByReadme(url, admin);
  await expectCommands(program, password, delivery);
  expect(await first.end()).toBe(0);

  const second = await startServer(program);
  expect(second.said()).not.toContain("shown this once");
  const { total } = await admin.expect<{ total: number }>(200, "GET", "/api/projects");
  expect(total).toBe(2);
  expect(await second.end()).toBe(0);
}

async function startServer({ server, env, url }: NewcomersProgram) {
  const child = Bun.spawn([...server], { env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  let said = "";
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    for await (const chunk of stream) said += Buffer.from(chunk).toString();
  };
  void collect(child.stdout);
  void collect(child.stderr);
  await eventually("the server says that it is ready", () => {
    if (child.exitCode !== null) throw new Error(`the server ended: ${said}`);
    return said.includes(`is ready at ${url}`);
  });
  return {
    said: () => said,
    end() {
      child.kill("SIGTERM");
      return child.exited;
    },
  };
}

/** The page and the script that it loads. */
async function expectConsole(url: string): Promise<void> {
  const page = await fetch(url, { headers: { accept: "text/html" } });
  const [, script = ""] = /<script[^>]+src="([^"]+)"/.exec(await page.text()) ?? [];
  expect([page.status, (await fetch(new URL(script, url))).status]).toEqual([200, 200]);
}

async function trySample(admin: ApiClient): Promise<void> {
  const { taskId } = await admin.expect<{ taskId: number }>(201, "POST", "/api/samples");
  const state = async () => (await admin.expect<{ state: string }>(200, "GET", `/api/tasks/${taskId}`)).state;
  // It starts git and a shell per stage, which takes long on a busy machine.
  await eventually("the sample is deployed", async () => (await state()) === "success", 90_000);
}

async function publishByReadme(url: string, admin: ApiClient): Promise<void> {
  const { code } = await admin.expect<{ code: string }>(201, "POST", "/api/push/codes", { userId: "42" });
  const user = await PushClient.open(`${url.replace("http", "ws")}/ws?code=${code}`);
  const { command, answer } = exampleUnder("Push something");
  expect(await answerOf(command, url)).toEqual(answer);
  await eventually("the message arrives", () => user.frames.includes("your build is live"));
  user.close();
}

/** Answers the id of the delivery. */
async function deliverByReadme(url: string, admin: ApiClient): Promise<number> {
  const project = await admin.expect<{ id: number }>(201, "POST", "/api/projects", {
    name: "shop",
    git: { url: "https://git.example.com/shop.git" },
    stages: { build: { script: "make" } },
  });
  const secret = "a secret of the README";
  const path = `/api/projects/${project.id}/webhook`;
  const webhook = await admin.expect<{ url: string }>(200, "PUT", path, { enabled: true, secret });
  const { command, answer } = exampleUnder("Deploy something");
  const env = { WEBHOOK_URL: webhook.url, WEBHOOK_SECRET: secret };
  const accepted = await answerOf(command, url, env);
  const { deliveryId, taskId } = accepted;
  const message = String(accepted.message).replace(/\d{4}-.*Z/, "…");
  // Other ids than in the README, where nothing was delivered before.
  expect<Record<string, unknown>>({ ...accepted, message }).toEqual({
    ...answer,
    deliveryId,
    taskId,
    message: String(answer.message).replace("Task 1", `Task ${taskId}`),
  });
  const refused = await answerOf(command, url, { ...env, WEBHOOK_SECRET: "another" });
  expect(refused).toMatchObject({ status: "rejected" });
  return Number(deliveryId);
}

async function expectCommands(program: NewcomersProgram, password: string, delivery: number): Promise<void> {
  const run = async (args: string[], input = "") => {
    const child = Bun.spawn([...program.command, ...args], {
      env: { ...program.env, SLIPWAY_URL: program.url },
      stdin: new Blob([input]),
      stdout: "pipe",
      stderr: "pipe",
    });
    const texts = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return [await child.exited, texts.join("")];
  };
  expect(await run(["login", "admin"], `${password}\n`)).toEqual([0, expect.any(String)]);
  expect(await run(["hook", "show", String(delivery)])).toEqual([0, expect.stringContaining("accepted")]);
  expect(await run(["logs", "-f", "1"])).toEqual([0, expect.stringContaining("Task 1 ended as success")]);
}

/** The first shell example under a heading, and the response below it. */
function exampleUnder(heading: string): { command: string; answer: Record<string, unknown> } {
  const section = readme.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  const command = /```sh\n([\s\S]*?)```/.exec(section)?.[1] ?? "";
  const answer = /```json\n([\s\S]*?)```/.exec(section)?.[1] ?? "null";
  return { command, answer: JSON.parse(answer) as Record<string, unknown> };
}

async function answerOf(
  command: string,
  url: string,
  env: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const shell = Bun.spawn(["sh", "-c", command.replaceAll("http://127.0.0.1:8080", url)], {
    env: { PATH: process.env.PATH ?? "", ...env },
    stdout: "pipe",
    stderr: "ignore",
  });
  return (await new Response(shell.stdout).json()) as Record<string, unknown>;
}
