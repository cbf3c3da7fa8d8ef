import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildCli } from "../support/cli.ts";
import { examplesOf, runPage } from "../support/page-examples.ts";
import { gitOfFile as git, setUpProjectFiles } from "../support/project-file-scene.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { wholeProject } from "../support/whole-project.ts";

const { server, token, tokenOf, shell, slipway, file, projectNamed, writes } = await setUpProjectFiles();

test("a file makes a project, shows what it changes, and says no change the second time", async () => {
  const build = "pipeline:\n  build:\n    - { name: test, script: make }\n";
  const first = file(`name: shop\n${git}${build}env: { MODE: fast }\nwebhook: { branchFilter: [main] }\n`);
  const dry = await slipway(["project", "apply", "-f", first, "--dry-run"]);
  expect(dry).toMatchObject({ exitCode: 0, stderr: "" });
  expect(dry.stdout).toContain('New project shop:\n  + name: "shop"\n');
  expect(dry.stdout).toEndWith("Nothing was sent: this is a dry run.\n");
  expect(await projectNamed("shop")).toBeUndefined();

  const made = await slipway(["project", "apply", "-f", first]);
  expect(made).toMatchObject({ exitCode: 0, stderr: "" });
  const shop = await projectNamed("shop");
  expect(made.stdout).toEndWith(`Created project shop with id ${shop?.id}.\n`);
  expect(shop).toMatchObject({
    env: { MODE: "fast" },
    pipeline: { build: [{ name: "test", script: "make" }] },
  });
  const webhook = await server.admin.expect(200, "GET", `/api/projects/${shop?.id}/webhook`);
  expect(webhook).toMatchObject({ branchFilter: ["main"], enabled: false });

  const sent = writes();
  expect(sent).toBeGreaterThan(1);
  const again = await slipway(["project", "apply", "-f", first]);
  expect(again).toMatchObject({ exitCode: 0, stdout: "Project shop: no change.\n" });
  expect(writes()).toBe(sent);

  const second = file(
    `name: shop\npipeline:\n  build:\n    - name: test\n      script: |\n        npm ci\n        npm test\n    - script: make\n` +
      "limits: { memoryMb: 512 }\nlabels: [gpu]\nenv: {}\n",
  );
  const planned = await slipway(["project", "apply", "-f", second, "--dry-run", "--json"]);
  expect(planned.json()).toMatchObject({ dryRun: true, id: shop?.id });
  expect((await projectNamed("shop"))?.revision).toBe(shop?.revision ?? "");
  const changed = await slipway(["project", "apply", "-f", second]);
  expect(changed.stdout).toBe(
    [
      `Project shop, id ${shop?.id}:`,
      "  ~ pipeline.build.0.script:",
      "      - make",
      "      + npm ci",
      "      + npm test",
      '  + pipeline.build.1.script: "make"',
      '  - env.MODE: "fast"',
      '  ~ labels: [] → ["gpu"]',
      "  ~ limits.memoryMb: null → 512",
      "Changed project shop.\n",
    ].join("\n"),
  );
  // What the file does not say has stayed.
  expect(await projectNamed("shop")).toMatchObject({
    git: { url: "https://git.example.com/shop.git" },
    ...{ limits: { memoryMb: 512, cpus: null }, labels: ["gpu"], env: {} },
  });
  const renamed = file("name: store\n");
  const run = await slipway(["project", "apply", "-f", renamed, "--project", "shop"]);
  expect(run.stdout).toContain('~ name: "shop" → "store"');
  expect((await projectNamed("store"))?.id).toBe(shop?.id ?? 0);
});

test("the address of a webhook is shown when it is made, and not again", async () => {
  const hook = (more: string) =>
    file(`name: hooked\n${git}webhook: { enabled: true, secret: { from: HOOK_SECRET }${more} }\n`);
  const withSecret = shell({ HOOK_SECRET: "the secret" });
  const made = await withSecret(["project", "apply", "-f", hook("")]);
  const { id } = (await projectNamed("hooked")) ?? {};
  const { url } = await server.admin.expect<{ url: string }>(200, "GET", `/api/projects/${id}/webhook`);
  expect(made.stdout).toEndWith(`Created project hooked with id ${id}.\nAddress of its webhook: ${url}\n`);
  const changed = await withSecret(["project", "apply", "-f", hook(", branchFilter: [main]")]);
  expect(changed.stdout).toEndWith("Changed project hooked.\n");
  const other = file(`name: hooked too\n${git}webhook: { enabled: true, secret: { from: HOOK_SECRET } }\n`);
  const data = (await withSecret(["project", "apply", "-f", other, "--json"])).json();
  expect(data).toMatchObject({ webhookUrl: expect.stringMatching(/\/api\/hooks\/git\/[0-9a-f]+$/) });
});

test("each mistake is named with its line, before anything is sent", async () => {
  const sent = writes();
  const faultsOf = async (text: string, args: string[] = []) => {
    const path = file(text);
    const run = await slipway(["project", "apply", "-f", path, ...args]);
    expect([run.exitCode, run.stdout]).toEqual([2, ""]);
    return run.stderr.replaceAll(`${path}, `, "");
  };
  expect(
    await faultsOf(
      `name: wrong\n${git}labls: [gpu]\npipeline:\n  build:\n    - scirpt: make\nlimits: { memoryMb: 2 }\nwebhook: { enabled: 1 }\n`,
    ),
  ).toBe(
    "line 3, column 1: labls is no field here; did you mean labels?\n" +
      "line 6, column 7: pipeline.build.0.scirpt is no field here; did you mean script?\n" +
      "line 7, column 21: limits.memoryMb must be at least 16\n" +
      "line 8, column 21: webhook.enabled must be true or false\n",
  );
  expect(await faultsOf(`name: wrong\nlabels: [gpu]\n`)).toBe("line 1, column 1: git is required\n");
  expect(await faultsOf(git)).toBe("line 1, column 1: name is required\n");
  expect(await faultsOf("")).toContain("the file is empty");
  expect(await faultsOf(`name: wrong\n${git}secrets: { TOKEN: abc }\n`)).toBe(
    "line 3, column 19: secrets.TOKEN must name the shell variable that has the value, such as { from: DEPLOY_TOKEN }\n",
  );
  expect(await faultsOf(`name: wrong\n${git}secrets:\n  TOKEN: { from: DEPLOY_TOKEN }\n`)).toBe(
    "line 4, column 10: secrets.TOKEN needs the shell variable DEPLOY_TOKEN, which is not set or empty\n",
  );
  expect(await faultsOf(`name: wrong\n${git}secrets: {}\n`, ["--secrets", "ELSEWHERE"])).toContain(
    "is from the shell variable ELSEWHERE",
  );
  // Two steps of one name are right each by itself; a rule of the whole pipeline is found here too.
  const twice = "pipeline: { build: [{ name: a, script: b }, { name: a, script: b }] }\n";
  expect(await faultsOf(`name: wrong\n${git}${twice}`)).toContain("line 3, column 53: pipeline.build.1.name");
  const key = `name: wrong\n${git}credential: { type: ssh, privateKey: { from: HOME } }\n`;
  expect(await faultsOf(key)).toMatch(
    /^line 3, column 38: credential.privateKey has a wrong value in the shell variable HOME: it /,
  );
  const path = file(`name: wrong\n${git}labls: [gpu]\n`);
  const json = await slipway(["project", "apply", "-f", path, "--json"]);
  expect(json.json()).toMatchObject({ ok: false, faults: [{ line: 3, column: 1, field: "labls" }] });
  expect((await slipway(["project", "apply", "-f", "missing.yaml"])).exitCode).toBe(5);
  expect((await slipway(["project", "apply", "-f", path, "--project", "nowhere"])).exitCode).toBe(2);
  const other = file("labels: [gpu]\n");
  expect((await slipway(["project", "apply", "-f", other, "--project", "nowhere"])).exitCode).toBe(5);
  expect(writes()).toBe(sent);
  expect(await projectNamed("wrong")).toBeUndefined();
});

test("a refusal of the server has its place in the file, and nothing is changed by it", async () => {
  const path = file(`name: refused\ngit: { url: http://git.example.com/shop.git }\nenv: { A: b }\n`);
  const run = await slipway(["project", "apply", "-f", path]);
  expect([run.exitCode, run.stderr]).toEqual([
    2,
    expect.stringContaining(`${path}, line 2, column 13: git.url `),
  ]);
  expect(await projectNamed("refused")).toBeUndefined();
});

test("a change by somebody else in between is refused", async () => {
  const text = (labels: string) => file(`name: contested\n${git}labels: [${labels}]\n`);
  expect((await slipway(["project", "apply", "-f", text("gpu")])).exitCode).toBe(0);
  const { id } = (await projectNamed("contested")) ?? {};
  const between = Bun.serve({
    port: 0,
    async fetch(request) {
      if (request.method === "PATCH")
        await server.admin.expect(200, "PATCH", `/api/projects/${id}`, { labels: ["arm64"] });
      const { pathname, search } = new URL(request.url);
      return fetch(new Request(`${server.url}${pathname}${search}`, request));
    },
  });
  const run = await slipway(["project", "apply", "-f", text("linux"), "--url", between.url.origin]);
  await between.stop(true);
  expect([run.exitCode, run.stderr]).toEqual([1, expect.stringContaining("changed")]);
  expect(await projectNamed("contested")).toMatchObject({ labels: ["arm64"] });
});

test("every setting of a project that the API changes is in the file, or left out for a reason", async () => {
  const { paths } = await server.admin.expect<{ paths: Record<string, object> }>(
    200,
    "GET",
    "/api/openapi.json",
  );
  const changes = Object.entries(paths).flatMap(([path, methods]) =>
    path.startsWith("/api/projects/{id}")
      ? ["put", "patch"].filter((method) => method in methods).map((method) => `${method} ${path.slice(18)}`)
      : [],
  );
  const inFile = ["patch ", "put /webhook", "put /credential", "put /keys/{kind}"];
  const ofSecrets = ["put /secrets/{name}", "patch /secrets/{name}"];
  // People differ between servers, and who has access is decided by people.
  const leftOut = ["put /members/{userId}"];
  expect(changes.toSorted()).toEqual([...inFile, ...ofSecrets, ...leftOut].toSorted());
});

test("a caller without rights changes nothing, and the exit code is 4", async () => {
  const made = await slipway(["project", "apply", "-f", file(`name: foreign\n${git}`)]);
  const { id } = (await projectNamed("foreign")) ?? { id: 0 };
  expect(made.exitCode).toBe(0);
  const user = await server.newUser("viewer");
  const viewer = shell({ SLIPWAY_TOKEN: await tokenOf(user.client, ["write"]) });
  const other = file(`name: foreign\n${git}labels: [gpu]\n`);
  // Not visible: it would be a new project, which only an administrator may add.
  expect((await viewer(["project", "apply", "-f", other])).exitCode).toBe(4);
  await server.admin.expect(200, "PUT", `/api/projects/${id}/members/${user.id}`, { permission: "view" });
  expect((await viewer(["project", "apply", "-f", other])).exitCode).toBe(4);
  expect(
    (await viewer(["project", "apply", "-f", file("name: foreign\nsecrets: { A: null }\n")])).stdout,
  ).toContain("no change");
  expect((await projectNamed("foreign"))?.labels).toEqual([]);
  const group = await server.admin.expect<{ id: number }>(201, "POST", "/api/groups", { name: "own" });
  await server.admin.expect(200, "PUT", `/api/groups/${group.id}/members/${user.id}`, {
    permission: "manage",
  });
  const ofGroup = file(`name: of the group\n${git}groupId: ${group.id}\nwebhook: { enabled: true }\n`);
  expect(await viewer(["project", "apply", "-f", ofGroup])).toMatchObject({ exitCode: 0, stderr: "" });
  expect((await viewer(["project", "apply", "-f", ofGroup])).stdout).toContain("no change");
  expect((await buildCli({ SLIPWAY_URL: server.url })(["project", "apply", "-f", other])).exitCode).toBe(4);
});

test("an exported project with everything set is applied without a change, and makes the same project elsewhere", async () => {
  const { id: groupId } = await server.admin.expect<{ id: number }>(201, "POST", "/api/groups", {
    name: "team",
  });
  const full = shell(wholeProject.variables);
  for (const text of wholeProject.files(groupId)) {
    const made = await full(["project", "apply", "-f", file(text)]);
    expect(made).toMatchObject({ exitCode: 0, stderr: "" });
    expect((await slipway(["project", "apply", "-f", file(text)])).stdout).toContain("no change");
    const name = /^name: (.*)$/m.exec(text)?.[1] ?? "";
    const exported = await slipway(["project", "export", name]);
    for (const value of Object.values(wholeProject.variables)) expect(exported.stdout).not.toContain(value);
    const path = file(exported.stdout);
    expect(await slipway(["project", "apply", "-f", path])).toMatchObject({
      ...{ exitCode: 0, stderr: "", stdout: `Project ${name}: no change.\n` },
    });
    // The comment about the clone credential says what to add.
    const whole = exported.stdout.replace("# credential: { type: token", "credential: { type: token");
    const renamed = (text: string, from: string, to: string) =>
      text.replace(`name: ${name}${from}\n`, `name: ${name}${to}\n`);
    const copy = renamed(whole, "", " copy")
      .replaceAll("shop.example.com", "copy.example.com")
      .replaceAll("staging.example.com", "copied.example.com");
    expect(await full(["project", "apply", "-f", file(copy)])).toMatchObject({ exitCode: 0, stderr: "" });
    const again = (await slipway(["project", "export", `${name} copy`])).stdout;
    const back = renamed(again, " copy", "")
      .replaceAll("copy.example.com", "shop.example.com")
      .replaceAll("copied.example.com", "staging.example.com");
    expect(back).toBe(exported.stdout);
  }
});

test("docs/project-file.md: its commands make the project of its file, and its export is no change", async () => {
  const examples = await examplesOf("project-file.md");
  const page = examples.find(({ name }) => name === "file")?.text ?? "";
  // Another test has a project of this name.
  for (const taken of ["shop", "store"]) {
    const { id } = (await projectNamed(taken)) ?? {};
    if (id !== undefined) await server.admin.expect(204, "DELETE", `/api/projects/${id}`);
  }
  const shellFolder = temporaryFolder("project-file-page");
  writeFileSync(join(shellFolder, "shop.yaml"), page);
  const env = {
    ...{ SLIPWAY_URL: server.url, SLIPWAY_TOKEN: token, DEPLOY_TOKEN: "t", HOOK_SECRET: "s" },
    CHAT_URL: "https://hooks.slack.com/services/T0/B0/XXXX",
  };
  await runPage(examples, { folder: shellFolder, env, typed: "", after: () => undefined });
  const noChange = { exitCode: 0, stderr: "", stdout: "Project shop: no change.\n" };
  expect(await slipway(["project", "apply", "-f", file(page)])).toMatchObject(noChange);
  expect(await slipway(["project", "apply", "-f", join(shellFolder, "shop.yaml")])).toMatchObject(noChange);
});

test("docs/environments.md: its file makes a project with two environments, and changes nothing the second time", async () => {
  const [example] = await examplesOf("environments.md", { "name: shop\n": "name: two-places\n" });
  const path = file(example?.text ?? "");
  expect(await slipway(["project", "apply", "-f", path])).toMatchObject({ exitCode: 0, stderr: "" });
  const made = await projectNamed("two-places");
  expect(made).toMatchObject({
    env: { LOG: "info" },
    environments: [
      {
        ...{ name: "staging", refs: ["main"], env: { LOG: "debug" } },
        domains: { "shop.example.com": "staging.shop.example.com" },
        limits: { web: { memoryMb: 256 } },
      },
      {
        ...{ name: "production", from: "staging", labels: ["production"] },
        deploy: { approval: "required", notByPusher: true },
      },
    ],
  });
  const again = await slipway(["project", "apply", "-f", path]);
  expect(again).toMatchObject({ exitCode: 0, stdout: "Project two-places: no change.\n" });
});
