import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { adminPassword } from "../support/api-server.ts";
import { buildCli, type CliRun } from "../support/cli.ts";
import { freePort } from "../support/free-port.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { examplesOf } from "../support/page-examples.ts";
import { type ServerProcess, startServerProcess } from "../support/server-process.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** docs/side-by-side.md: the application of the page is deployed with the files of Slipway; those of other tools are read. */
const page = resolve(import.meta.dir, "../../docs/side-by-side.md");
const files = new Map((await examplesOf("side-by-side.md")).map(({ name, text }) => [name, text]));
const folder = temporaryFolder("side-by-side");

function file(name: string, replaced: Record<string, string> = {}): string {
  let text = files.get(name);
  if (text === undefined) throw new Error(`docs/side-by-side.md has no ${name}.`);
  for (const [from, to] of Object.entries(replaced)) {
    if (!text.includes(from)) throw new Error(`${name} has no ${from}.`);
    text = text.replaceAll(from, to);
  }
  return text;
}

test("the table and the sums below it have the lines of the files", async () => {
  const text = await Bun.file(page).text();
  const rows = [...text.matchAll(/^\| `([^`]+)` \| (\d+) \| (\w+) \|/gm)];
  expect(rows.length).toBeGreaterThan(10);
  const sums = new Map<string, { files: number; lines: number }>();
  for (const [, name = "", lines, tool = ""] of rows) {
    const counted = file(name).trimEnd().split("\n").length;
    expect([name, Number(lines)]).toEqual([name, counted]);
    const sum = sums.get(tool) ?? { files: 0, lines: 0 };
    sums.set(tool, { files: sum.files + 1, lines: sum.lines + counted });
  }
  for (const [tool, { files, lines }] of sums)
    expect(text).toContain(`${tool}: ${files} files, ${lines} lines`);
});

test("the files of the other tools are YAML and bash", () => {
  expect(Bun.YAML.parse(file("config/deploy.yml"))).toMatchObject({ servers: { api: {}, worker: {} } });
  const pipeline = Bun.YAML.parse(file(".woodpecker.yaml")) as { steps: { commands: string[] }[] };
  expect(pipeline.steps.at(-1)?.commands).toEqual(["bash deploy.sh"]);
  const parsed = Bun.spawnSync(["bash", "-n"], { stdin: Buffer.from(file("deploy.sh")) });
  expect([parsed.exitCode, parsed.stderr.toString()]).toEqual([0, ""]);
});

test("slipway pipeline check accepts the pipeline as the page shows it", async () => {
  const path = join(folder, ".slipway.yaml");
  writeFileSync(path, file(".slipway.yaml"));
  expect(await buildCli({})(["pipeline", "check", path])).toMatchObject({
    exitCode: 0,
    stdout: `${path} is right: build (test), start (web, api, worker).\n`,
  });
});

const caddy = await serviceUrl("caddy");
describe.skipIf(!caddy)("the application", () => {
  const port = freePort();
  const application = ["package.json", "serve.js", "orders.js", "web.js", "api.js", "worker.js"];
  let server: ServerProcess;
  let repository: GitRepository;
  let slipway: (args: string[]) => Promise<CliRun>;

  const ask = async (path: string, method = "GET") => {
    const headers = { Host: "shop.example.com" };
    return (await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, keepalive: false })).text();
  };

  beforeAll(async () => {
    server = await startServerProcess(join(folder, "data"), {
      ...{ "runner-isolation": "auto", "runner-proxy": "caddy", "runner-caddy-program": caddy ?? "" },
      ...{ "runner-http-port": String(port), "runner-https-port": String(freePort()) },
    });
    repository = await makeRepository();
    const login = { username: "admin", password: adminPassword };
    const { token } = await server.admin.expect<{ token: string }>(200, "POST", "/api/auth/login", login);
    slipway = buildCli({ SLIPWAY_URL: server.url, SLIPWAY_TOKEN: token, HOOK_SECRET: "the secret" });
  }, 120_000);
  afterAll(async () => {
    await server.end("SIGINT");
    repository.remove();
  });

  test("is deployed by a push, keeps its data, and stays when a release is broken", async () => {
    await repository.push({
      ...Object.fromEntries([...application, "test/orders.test.js"].map((name) => [name, file(name)])),
      // No public authority gives a certificate here, and a broken release need not be waited for so long.
      ".slipway.yaml": file(".slipway.yaml", {
        "domains: [shop.example.com]": "domains: [shop.example.com], tls: off",
        "within: 30s": "within: 5s",
      }),
    });
    const settings = join(folder, "shop.yaml");
    const here = {
      "https://git.example.com/shop.git": repository.url,
      "provider: gitea": "provider: generic",
    };
    writeFileSync(settings, file("shop.yaml", here));
    expect(await slipway(["project", "apply", "-f", settings])).toMatchObject({ exitCode: 0, stderr: "" });
    const { url } = await server.admin.expect<{ url: string }>(200, "GET", "/api/projects/1/webhook");
    const push = async () => {
      const body = JSON.stringify({ event: "push", ref: "refs/heads/main" });
      const headers = { "content-type": "application/json", "x-cicd-token": "the secret" };
      const answer = await (await fetch(url, { method: "POST", headers, body })).json();
      return (answer as { taskId: number }).taskId;
    };

    await server.reach(await push(), "success");
    expect(await ask("/")).toBe("shop, release 1\n");
    await ask("/orders", "POST");
    const { services } = await server.admin.expect<{ services: { name: string; state: string }[] }>(
      ...[200, "GET", "/api/projects/1/services"],
    );
    expect(services.map(({ name, state }) => [name, state]).sort()).toEqual([
      ["api", "serving"],
      ["web", "serving"],
      ["worker", "serving"],
    ]);

    await repository.push({ "web.js": file("web.js", { "release 1": "release 2" }) });
    await server.reach(await push(), "success");
    expect(await ask("/")).toBe("shop, release 2\n");
    expect(JSON.parse(await ask("/api/orders"))).toEqual({ open: 0, done: 1 });

    await repository.push({ "web.js": file("web.js", { 'return "ok\\n"': 'throw new Error("broken")' }) });
    const { reason } = await server.reach(await push(), "failed");
    expect(reason).toContain("is still serving");
    expect(await ask("/")).toBe("shop, release 2\n");
  }, 180_000);
});
