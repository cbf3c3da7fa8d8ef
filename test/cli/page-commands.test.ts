import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { adminPassword } from "../support/api-server.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { claims } from "../support/page-claims.ts";
import { blocksIn } from "../support/page-examples.ts";
import { PushClient } from "../support/push-client.ts";
import { type ServerProcess, startServerProcess } from "../support/server-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Runs the commands and requests of the pages that have no test of their own, on a server with seven projects. */
const root = resolve(import.meta.dir, "../..");
const folder = temporaryFolder("page-commands");
const ran = new Set<string>();
/** Ended after the tests, also if one fails. */
const children: Bun.Subprocess[] = [];
let server: ServerProcess;
let repository: GitRepository;
let token = "";
let hook = { url: "", secret: "the secret" };

function example(page: string, id: string): string {
  const block = blocksIn(readFileSync(join(root, page), "utf8")).find((each) => each.id === id);
  if (!block) throw new Error(`${page} has no example ${id}.`);
  ran.add(`${page} ${id}`);
  return block.text;
}

interface Shell {
  /** Texts of the page, and what they are here: addresses, numbers, folders. */
  replaced?: Record<string, string>;
  env?: Record<string, string>;
  typed?: string;
}

function start(code: string, { replaced = {}, env = {}, typed = "" }: Shell) {
  let script = code;
  for (const [from, to] of Object.entries(replaced)) {
    if (!script.includes(from)) throw new Error(`The example has no ${from}:\n${code}`);
    script = script.replaceAll(from, to);
  }
  const child = Bun.spawn(["sh", "-euc", script], {
    cwd: folder,
    env: {
      PATH: `${root}/bin:${process.env.PATH}`,
      HOME: folder,
      LANG: "C.UTF-8",
      SLIPWAY_URL: server.url,
      SLIPWAY: server.url,
      TOKEN: token,
      ...env,
    },
    stdin: new Blob([typed]),
    stdout: "pipe",
    stderr: "pipe",
  });
  children.push(child);
  return child;
}

/** Runs an example to its end; it must succeed. Returns what it printed. */
async function run(page: string, id: string, shell: Shell = {}): Promise<string> {
  return finished(start(example(page, id), shell), `${page} ${id}`);
}

async function finished(child: ReturnType<typeof start>, name: string): Promise<string> {
  const [output, errors] = await Promise.all([
    new Response(child.stdout as ReadableStream).text(),
    new Response(child.stderr as ReadableStream).text(),
  ]);
  expect([name, await child.exited, output, errors]).toEqual([name, 0, output, errors]);
  return output;
}

/** Sends a delivery and waits for its task. */
async function deliver(message: string): Promise<{ deliveryId: number; taskId: number }> {
  const response = await fetch(hook.url, {
    method: "POST",
    headers: { "content-type": "application/json", "x-cicd-token": hook.secret },
    body: JSON.stringify({ event: "push", ref: "refs/heads/main", message }),
  });
  const answer = (await response.json()) as { deliveryId: number; taskId: number };
  expect([response.status, answer]).toMatchObject([202, { status: "accepted" }]);
  return answer;
}

beforeAll(async () => {
  server = await startServerProcess(join(folder, "data"));
  const login = { username: "admin", password: adminPassword };
  ({ token } = await server.admin.expect<{ token: string }>(200, "POST", "/api/auth/login", login));
  repository = await makeRepository();
  await repository.push({ "push.json": "{}" }, { message: "The first version" });
  for (let id = 1; id <= 7; id++)
    expect(await server.project(repository.url, { build: "echo built" })).toBe(id);
  const webhook = { enabled: true, provider: "generic", secret: hook.secret, debounceSeconds: 0 };
  const saved = await server.admin.expect<{ url: string }>(200, "PUT", "/api/projects/7/webhook", webhook);
  hook = { ...hook, url: saved.url };
}, 120_000);
afterAll(async () => {
  for (const child of children) child.kill("SIGTERM");
  await server.end("SIGTERM");
});

describe("README.md", () => {
  test("npm start starts the product", async () => {
    const port = String(freePort());
    const data = temporaryFolder("npm-start");
    const child = start(`cd ${root}; exec ${example("README.md", "sh 1")}`, {
      env: { PORT: port, SLIPWAY_DATA_DIR: data, SLIPWAY_RUNNER_ENABLED: "false" },
    });
    await eventually(
      "it is ready",
      async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.status === 200,
      60_000,
    );
    child.kill("SIGTERM");
    await child.exited;
  }, 120_000);

  test("the command line shows the delivery and the log", async () => {
    const { deliveryId, taskId } = await deliver("a better banner");
    expect([deliveryId, taskId]).toEqual([1, 1]);
    const output = await run("README.md", "sh 5", {
      replaced: { "bin/slipway": `${root}/bin/slipway` },
      typed: `${adminPassword}\n`,
    });
    expect(output).toContain("accepted");
    expect(output).toContain("built");
  }, 120_000);
});

describe("pages about webhooks", () => {
  test("docs/webhook.md", async () => {
    const { deliveryId, taskId } = await deliver("another one");
    await server.reach(taskId, "success");
    writeFileSync(join(folder, "push.json"), JSON.stringify({ event: "push", ref: "refs/heads/main" }));
    const output = await run("docs/webhook.md", "sh 1", {
      replaced: { "123": String(deliveryId) },
      typed: `${adminPassword}\n`,
    });
    expect(output).toContain("another one");
    const body = JSON.parse(example("docs/webhook.md", "json 1"));
    await server.admin.expect(200, "POST", "/api/webhooks/deliveries/replay", body);
  }, 120_000);

  test("docs/hosts/generic.md: the fields of a delivery", async () => {
    const body = example("docs/hosts/generic.md", "json 1").replace("<40 hex digits>", "a".repeat(40));
    const headers = { "content-type": "application/json", "x-cicd-token": hook.secret };
    const answer = await fetch(hook.url, { method: "POST", headers, body });
    expect([answer.status, await answer.json()]).toMatchObject([202, { status: "accepted" }]);
  });

  for (const [page, provider] of [
    ["docs/hosts/bitbucket.md", "bitbucket"],
    ["docs/hosts/codeup.md", "codeup"],
    ["docs/hosts/gitea.md", "gitea"],
    ["docs/hosts/gitee.md", "gitee"],
    ["docs/hosts/github.md", "github"],
    ["docs/hosts/gitlab.md", "gitlab"],
    ["docs/hosts/gogs.md", "gogs"],
  ] as const)
    test(`${page} turns on the webhook`, async () => {
      const output = await run(page, "sh 1", { replaced: { "/7/": "/6/" } });
      expect(JSON.parse(output)).toMatchObject({ enabled: true, provider, secretSet: true });
    });

  test("docs/notifications.md sets a target", async () => {
    const output = await run("docs/notifications.md", "sh 1", {
      replaced: { "https://slipway.example.com": server.url },
    });
    expect(JSON.parse(output)).toMatchObject({ id: 7, notify: [{ format: "slack", logLines: 10 }] });
  });
});

describe("docs/task-reference.md", () => {
  test("its commands run, show, follow, cancel and repeat tasks", async () => {
    const done = await deliver("to show");
    await server.reach(done.taskId, "success");
    const endless = await server.run(await server.project(repository.url, { build: "sleep 600" }));
    const lines = example("docs/task-reference.md", "sh 1").trim().split("\n");
    expect(lines.length).toBe(6);
    for (const line of lines) {
      const task = line.includes("cancel") ? endless.id : done.taskId;
      const replaced: Record<string, string> = line.includes("42") ? { "42": String(task) } : {};
      await finished(start(line, { replaced, env: { SLIPWAY_TOKEN: token } }), line);
    }
  }, 120_000);

  test("its settings are settings of a project", async () => {
    // The first one has steps that `stages` of the second cannot describe.
    for (const id of ["json 2", "json 1"])
      await server.admin.expect(
        200,
        "PATCH",
        "/api/projects/5",
        JSON.parse(example("docs/task-reference.md", id)),
      );
  });

  test("its runner connects", async () => {
    const made = await server.admin.expect<{ id: number; token: string }>(201, "POST", "/api/runners", {
      name: "of the page",
    });
    const file = join(folder, "runner.token");
    writeFileSync(file, made.token);
    mkdirSync(join(folder, "runner-data"));
    const child = start(`exec ${example("docs/task-reference.md", "sh 2")}`, {
      replaced: { "https://slipway.example.com": server.url, "/etc/slipway/runner.token": file },
      env: { SLIPWAY_DATA_DIR: join(folder, "runner-data") },
    });
    await eventually(
      "the runner is online",
      async () => {
        const list = await server.admin.expect<{ items: { id: number; online: boolean }[] }>(
          200,
          "GET",
          "/api/runners",
        );
        return list.items.some(({ id, online }) => id === made.id && online);
      },
      60_000,
    );
    child.kill("SIGTERM");
    await child.exited;
  }, 120_000);
});

test("docs/push.md: a gateway that asks another service about codes", async () => {
  const port = freePort();
  const child = start(`exec ${example("docs/push.md", "gateway")}`, {
    env: { SLIPWAY_SERVER_LISTEN: `127.0.0.1:${port}`, SLIPWAY_DATA_DIR: join(folder, "gateway-data") },
  });
  await eventually(
    "it is ready",
    async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.status === 200,
    60_000,
  );
  child.kill("SIGTERM");
  await child.exited;
}, 120_000);

test("examples/README.md: a gateway, the client and the backend of the page, and a message", async () => {
  const [port, gatewayPort] = [freePort(), freePort()];
  const [gateway = "", build = "", backend = "", publish = ""] = example("examples/README.md", "sh 1")
    .trim()
    .split("\n");
  const replaced = { "3000": String(port) };
  const programs = [
    start(`exec ${gateway}`, {
      replaced,
      env: {
        SLIPWAY_SERVER_LISTEN: `127.0.0.1:${gatewayPort}`,
        SLIPWAY_DATA_DIR: join(folder, "example-data"),
      },
    }),
    start(`cd ${root}; exec ${backend}`, {
      env: { PORT: String(port), GATEWAY: `http://127.0.0.1:${gatewayPort}` },
    }),
  ];
  await finished(start(`cd ${root}; ${build}`, {}), build);
  const page = `http://127.0.0.1:${port}`;
  for (const url of [
    `http://127.0.0.1:${gatewayPort}/readyz`,
    `${page}/?user=ann`,
    `${page}/slipway-push.js`,
  ])
    await eventually(
      `${url} answers`,
      async () => (await fetch(url).catch(() => null))?.status === 200,
      60_000,
    );
  const code = await (await fetch(`${page}/push-code?user=ann`, { method: "POST" })).text();
  const client = await PushClient.open(`ws://127.0.0.1:${gatewayPort}/ws?code=${code}`);
  await finished(start(publish, { replaced }), publish);
  await eventually("the message arrives", () => client.frames.includes("your order has shipped"));
  client.close();
  for (const program of programs) {
    program.kill("SIGTERM");
    await program.exited;
  }
}, 120_000);

test("settings in YAML are valid", async () => {
  for (const [page, id] of [
    ["docs/configuration.md", "yaml 1"],
    ["docs/telemetry.md", "yaml 1"],
  ] as const) {
    writeFileSync(join(folder, "slipway.yaml"), example(page, id));
    await finished(start("slipway config check --config slipway.yaml", {}), `${page} ${id}`);
  }
});

test("every example that is claimed for this file was run", () => {
  const own = "test/cli/page-commands.test.ts";
  const claimed = Object.entries(claims).flatMap(([page, claim]) =>
    Object.entries(claim).flatMap(([id, file]) => (file === own ? [`${page} ${id}`] : [])),
  );
  expect([...ran].sort()).toEqual(claimed.sort());
});
