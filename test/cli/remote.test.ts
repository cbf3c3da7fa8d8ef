import { expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { adminPassword } from "../support/api-server.ts";
import { setUpApi } from "../support/api-setup.ts";
import { makeCertificate } from "../support/certificate.ts";
import { buildCli } from "../support/cli.ts";
import { makeHook, sha } from "../support/hook.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const server = await setUpApi({}, undefined, "start");
const slipway = buildCli({ SLIPWAY_URL: server.url });

test("without a sign-in a command says how to sign in and exits with 4", async () => {
  const run = await slipway(["user", "list"]);
  expect(run.exitCode).toBe(4);
  expect(run.stderr).toBe(
    `You are not signed in at ${server.url}. Sign in with \`slipway login\`, or pass --token.\n`,
  );
  const mistyped = await slipway(["login", "admin"], "another password\n");
  expect(mistyped).toMatchObject({ exitCode: 4, stderr: "Username or password is wrong.\n" });
});

test("an unreachable server is named, and the exit code is 3", async () => {
  const run = await slipway(["online", "--url", "http://127.0.0.1:1"]);
  expect(run.exitCode).toBe(3);
  expect(run.stderr).toContain("http://127.0.0.1:1");
});

test("an address without http:// is wrong usage, and an empty one is no address", async () => {
  const run = await slipway(["online", "--url", "127.0.0.1:8080"]);
  expect([run.exitCode, run.stderr]).toEqual([
    2,
    '"127.0.0.1:8080" is no address of a server: it must start with http:// or https://.\n',
  ]);
  expect((await slipway(["online", "--url", ""])).exitCode).toBe(0);
});

test("a certificate that is not accepted, and a server without TLS, are named", async () => {
  const { certificate, key } = await makeCertificate();
  const page = Bun.serve({ port: 0, tls: { cert: certificate, key }, fetch: () => new Response("{}") });
  const untrusted = await slipway(["online", "--url", `https://localhost:${page.port}`]);
  await page.stop(true);
  expect([untrusted.exitCode, untrusted.stderr]).toEqual([
    3,
    expect.stringMatching(
      /^The certificate of https:\/\/localhost:\d+ is not accepted .*NODE_EXTRA_CA_CERTS/,
    ),
  ]);
  const plain = await slipway(["online", "--url", server.url.replace("http:", "https:")]);
  expect([plain.exitCode, plain.stderr]).toEqual([3, expect.stringContaining("does not use TLS")]);
});

test("health asks the server of the settings, and exits with 0 or 3", async () => {
  const alive = await slipway(["health", "--server-listen", new URL(server.url).host]);
  expect(alive).toMatchObject({ exitCode: 0, stdout: `The server at ${server.url} is alive.\n` });
  const away = await slipway(["health", "--server-listen", "127.0.0.1:1"]);
  expect(away).toMatchObject({ exitCode: 3, stderr: "No server is alive at http://127.0.0.1:1.\n" });
});

test("another server than Slipway is named, and the exit code is 3", async () => {
  const page = Bun.serve({ port: 0, fetch: () => new Response("<html>Welcome</html>") });
  for (const command of [
    ["hook", "list"],
    ["hook", "test", "1"],
    ["hook", "replay", "1"],
  ]) {
    const run = await slipway([...command, "--url", page.url.origin]);
    expect([run.exitCode, run.stderr]).toEqual([3, expect.stringContaining("is not Slipway")]);
  }
  await page.stop(true);
});

test("sign in, make a project, test its hook, list deliveries, make and revoke a token, sign out", async () => {
  const signedIn = await slipway(["login", "admin"], `${adminPassword}\n`);
  expect(signedIn).toMatchObject({ exitCode: 0, stderr: "" });

  const made = await slipway([
    "project",
    "create",
    "shop",
    "https://git.example.com/shop.git",
    "--build",
    "make",
    "--json",
  ]);
  const { id } = made.json() as { id: number };
  expect((await slipway(["project", "list"])).stdout).toContain("https://git.example.com/shop.git");

  const refused = await slipway(["project", "create", "shop", "nowhere"]);
  expect([refused.exitCode, refused.stderr.split("git.url").length]).toEqual([2, 2]);
  expect((await slipway(["project", "list"])).stdout).toMatch(/^ID +NAME +URL +REF +LIVE TASK ID\n/);

  const dry = await slipway(["hook", "test", String(id), "--ref", "main", "--message", "hello [skip ci]"]);
  expect(dry.stdout).toContain("would be ignored (skip_keyword)");
  expect((await slipway(["hook", "list", "--json"])).json()).toMatchObject({ items: [], total: 0 });

  const token = (await slipway(["token", "create", "ci", "--scopes", "read"])).stdout.trim();
  const withToken = buildCli({ SLIPWAY_URL: server.url, SLIPWAY_TOKEN: token });
  expect((await withToken(["project", "list", "--json"])).json()).toMatchObject({ total: 1 });
  expect((await withToken(["project", "create", "x", "https://git.example.com/x.git"])).exitCode).toBe(4);
  const listed = (await slipway(["token", "list", "--json"])).json() as { items: { id: number }[] };
  await slipway(["token", "revoke", String(listed.items[0]?.id)]);
  expect((await withToken(["project", "list"])).exitCode).toBe(4);

  expect((await withToken(["logout"])).stdout).toContain("Nobody was signed in.");
  expect((await slipway(["logout"])).stdout).toContain(`Signed out at ${server.url}.`);
  expect((await slipway(["project", "list"])).exitCode).toBe(4);

  await slipway(["login", "admin"], `${adminPassword}\n`);
  const sessions = await server.admin.expect<{ items: { id: number; current: boolean }[] }>(
    200,
    "GET",
    "/api/auth/sessions",
  );
  for (const { id, current } of sessions.items)
    if (!current) await server.admin.expect(204, "DELETE", `/api/auth/sessions/${id}`);
  expect(await slipway(["logout"])).toMatchObject({ exitCode: 0, stderr: "" });
});

test("deliveries are found, explained, tried and replayed from a shell", async () => {
  const { token } = await server.admin.expect<{ token: string }>(201, "POST", "/api/tokens", {
    name: "shell",
    scopes: ["admin"],
  });
  const shell = buildCli({ SLIPWAY_URL: server.url, SLIPWAY_TOKEN: token });
  const hook = await makeHook(server, { provider: "github", branchFilter: ["live"], debounceSeconds: 0 });
  const [project, payload] = [
    String(hook.projectId),
    { ref: "refs/heads/main", after: sha("a"), commits: [] },
  ];
  const headers = { "X-GitHub-Event": "push" };
  const { deliveryId } = (await hook.deliver({ payload, headers })).body;

  const list = await shell(["hook", "list", "--project", project, "--code", "branch_not_matched"]);
  expect(list.stdout).toContain("The branch main matches none of live.");
  const none = await shell(["hook", "list", "--project", project, "--search", "elsewhere", "--json"]);
  expect(none.json()).toMatchObject({ total: 0 });
  const shown = await shell(["hook", "show", String(deliveryId)]);
  expect(shown.stdout).toMatch(/branch +stop +main +live[\s\S]*ignored \(branch_not_matched\)/);

  const folder = temporaryFolder("cli");
  const file = join(folder, "push.json");
  writeFileSync(file, JSON.stringify(payload));
  const tried = ["hook", "test", project, "--payload", file, "--header", "X-GitHub-Event: push"];
  expect((await shell(tried)).stdout).toContain("would be ignored (branch_not_matched)");
  rmSync(folder, { recursive: true });
  const missing = await shell(tried);
  expect([missing.exitCode, missing.stderr]).toEqual([2, expect.stringContaining("push.json")]);

  await hook.save({ branchFilter: [] });
  const preview = await shell(["hook", "replay", "--project", project, "--status", "ignored"]);
  expect(preview.stdout).toMatch(/1 found, 1 would be replayed\.\nNothing was replayed: add --yes/);
  const real = await shell(["hook", "replay", "--project", project, "--status", "ignored", "--yes"]);
  expect(real.stdout).toMatch(/accepted: [\s\S]*1 found, 1 replayed\./);
  expect((await shell(["hook", "replay", String(deliveryId)])).stdout).toMatch(/delivery \d+ accepted/);
  const forced = await shell(["hook", "replay", "--project", project, "--status", "ignored", "--force"]);
  expect([forced.exitCode, forced.stderr]).toEqual([
    2,
    expect.stringContaining("--force needs the id of one delivery"),
  ]);
  await hook.deliver({ payload, headers });
  await hook.save({ enabled: false });
  const refused = await shell(["hook", "replay", "--project", project, "--status", "accepted", "--yes"]);
  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("1 could not be replayed") });
  const named = await shell(["hook", "test", "nowhere"]);
  expect([named.exitCode, named.stderr]).toEqual([
    expect.any(Number),
    expect.stringContaining('There is no project "nowhere"'),
  ]);
  expect(named.exitCode).not.toBe(0);
  for (const wrong of [
    ["hook", "replay"],
    ["hook", "replay", "1", "--project", project],
  ])
    expect(await shell(wrong)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("by filters") });
});

test("tasks are listed, shown, ended and run again from a shell", async () => {
  await slipway(["login", "admin"], `${adminPassword}\n`);
  const url = "https://git.example.com/site.git";
  const { id } = (await slipway(["project", "create", "site", url, "--json"])).json() as { id: number };
  const task = (await slipway(["project", "run", String(id), "--json"])).json() as { id: number };
  const list = await slipway(["task", "list", "--project", String(id), "--state", "queued"]);
  expect(list.stdout).toMatch(
    new RegExp(`^ID +PROJECT ID +STATE.*\\n${task.id} +${id} +queued +refs/heads/main`),
  );
  expect((await slipway(["task", "cancel", String(task.id)])).stdout).toBe(`Task ${task.id} is canceled.\n`);
  const shown = await slipway(["task", "show", String(task.id)]);
  expect(shown.stdout).toMatch(/NAME +STATE[\s\S]*build[\s\S]*canceled: canceled by admin/);
  const ended = await slipway(["logs", "-f", String(task.id)]);
  expect(ended).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("ended as canceled") });
  const again = (await slipway(["task", "rerun", String(task.id), "--json"])).json();
  expect(again).toMatchObject({ rerunOf: task.id, state: "queued" });
  expect((await slipway(["task", "show", "999"])).exitCode).toBe(5);
  await slipway(["logout"]);
});

test("publish prints the number of receivers; online lists users", async () => {
  const run = await slipway(["publish", "channel", "news", "--data", "hello", "--json"]);
  expect(run.json()).toMatchObject({ text: "publish success", receivers: 0 });
  expect((await slipway(["online", "--json"])).json()).toEqual([]);
  const mistaken = await slipway(["publish", "all", "hello"]);
  expect([mistaken.exitCode, mistaken.stderr]).toEqual([2, expect.stringContaining("--data")]);
  const wrong = await slipway(["publish", "everyone", "--data", "x"]);
  expect(wrong).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("all, user, temp_user, channel"),
  });
});

test("push trace says why a user did not get a message", async () => {
  const { id } = (
    await slipway(["publish", "user", "absent", "--data", "hello", "--ack", "--json"])
  ).json() as { id: string };
  const { stdout } = await slipway(["push", "trace", "absent"]);
  expect(stdout).toContain(` user absent ${id}\n  absent had no connection on any instance.\n`);
  expect(stdout).toContain(": distributed, 0 written, 0 waiting, 0 acknowledged, 0 closed\n");
  const { messages } = (await slipway(["push", "trace", "absent", "--json"])).json() as {
    messages: object[];
  };
  expect(messages).toMatchObject([{ id, ack: true, cause: { code: "trace_no_connection" } }]);
  const nobody = (await slipway(["push", "trace", "nobody"])).stdout;
  expect(nobody).toMatch(
    /^nobody is offline, and had no connection since .+; earlier ones are not remembered\.\n/,
  );
  expect(nobody).toContain("No message to the user “nobody” is known.\n");
  expect((await slipway(["push", "trace", "absent", "--url", "http://127.0.0.1:1"])).exitCode).toBe(3);
});
