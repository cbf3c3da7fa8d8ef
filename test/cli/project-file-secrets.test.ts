import { expect, test } from "bun:test";
import { gitOfFile as git, setUpProjectFiles } from "../support/project-file-scene.ts";

const { server, shell, slipway, file, projectNamed } = await setUpProjectFiles();

test("secrets are sent once, and again only if that is asked", async () => {
  const text = `name: secret\n${git}secrets:\n  TOKEN: { from: DEPLOY_TOKEN, scope: deploy }\n  KEY: { from: DEPLOY_KEY, as: file }\n`;
  const path = file(`${text}webhook: { secret: { from: HOOK_SECRET } }\n`);
  const values = { DEPLOY_TOKEN: "the token", DEPLOY_KEY: "the key", HOOK_SECRET: "the hook secret" };
  const full = shell(values);
  const made = await full(["project", "apply", "-f", path]);
  expect(made).toMatchObject({ exitCode: 0, stderr: "" });
  expect(made.stdout).toContain('  + secrets.TOKEN.value: "$DEPLOY_TOKEN"\n');
  for (const value of Object.values(values)) expect(made.stdout).not.toContain(value);
  const { id, secrets } = (await projectNamed("secret")) ?? { id: 0 };
  expect(secrets).toMatchObject([
    { name: "KEY", scope: "all", as: "file" },
    { name: "TOKEN", scope: "deploy", as: "variable" },
  ]);
  const without = await slipway(["project", "apply", "-f", path]);
  expect(without).toMatchObject({ exitCode: 0, stdout: "Project secret: no change.\n" });

  const one = await shell({ DEPLOY_KEY: "another key" })(
    ...[["project", "apply", "-f", path, "--secrets", "DEPLOY_KEY"]],
  );
  expect(one.stdout).toBe(
    `Project secret, id ${id}:\n  ~ secrets.KEY.value: "(stored)" → "$DEPLOY_KEY"\nChanged project secret.\n`,
  );
  const all = await full(["project", "apply", "-f", path, "--secrets"]);
  expect(all.stdout.match(/"\(stored\)" → /g)).toHaveLength(3);
  const missing = await slipway(["project", "apply", "-f", path, "--secrets"]);
  expect([missing.exitCode, missing.stderr.match(/needs the shell variable/g)?.length]).toEqual([2, 3]);

  // More stages get a secret only with its value; fewer do without.
  const wider = file(
    `name: secret\nsecrets: { TOKEN: { from: DEPLOY_TOKEN, scope: all }, KEY: { from: DEPLOY_KEY, scope: deploy } }\n`,
  );
  expect((await slipway(["project", "apply", "-f", wider])).stderr).toContain(
    "secrets.TOKEN needs the shell",
  );
  expect((await full(["project", "apply", "-f", wider])).exitCode).toBe(0);
  expect((await slipway(["project", "apply", "-f", wider])).stdout).toContain("no change");
  const removed = file("name: secret\nsecrets: { TOKEN: null }\nwebhook: { secret: null }\n");
  expect((await slipway(["project", "apply", "-f", removed])).stdout).toContain("  - secrets.TOKEN");
  expect((await projectNamed("secret"))?.secrets.map(({ name }) => name)).toEqual(["KEY"]);
  expect(await server.admin.expect(200, "GET", `/api/projects/${id}/webhook`)).toMatchObject({
    secretSet: false,
  });
  expect((await slipway(["project", "apply", "-f", removed])).stdout).toContain("no change");
});

test("notification targets are found by their address, and keep it without its shell variable", async () => {
  const targets = (events: string, more = "") =>
    file(
      `name: told\n${git}notify:\n  - { format: slack, url: { from: CHAT_URL }, events: [${events}] }\n  - { format: push, url: "channel:news" }\n${more}`,
    );
  const env = { CHAT_URL: "https://hooks.slack.com/services/T0/B0/first" };
  expect((await shell(env)(["project", "apply", "-f", targets("task.failed")])).exitCode).toBe(0);
  const before = (await projectNamed("told"))?.notify as { id: string; url: string }[];
  expect(before).toMatchObject([{ url: "https://hooks.slack.com/…irst" }, { url: "channel:news" }]);
  expect((await shell(env)(["project", "apply", "-f", targets("task.failed")])).stdout).toContain(
    "no change",
  );
  expect((await slipway(["project", "apply", "-f", targets("task.failed")])).stdout).toContain("no change");

  const changed = await slipway(["project", "apply", "-f", targets("task.lost")]);
  expect(changed.stdout).toContain('~ notify.0.events: ["task.failed"] → ["task.lost"]');
  expect((await projectNamed("told"))?.notify).toMatchObject(before.map(({ id, url }) => ({ id, url })));
  const moved = shell({ CHAT_URL: "https://hooks.slack.com/services/T0/B0/other" });
  expect((await moved(["project", "apply", "-f", targets("task.lost")])).stdout).toContain(
    '~ notify.0.url: "https://hooks.slack.com/…irst" → "https://hooks.slack.com/…ther"',
  );
  const third = targets("task.lost", "  - { format: discord, url: { from: OTHER_URL } }\n");
  expect((await slipway(["project", "apply", "-f", third])).stderr).toContain(
    "line 6, column 29: notify.2.url needs the shell variable OTHER_URL",
  );
  const wrong = await shell({ OTHER_URL: "nowhere" })(["project", "apply", "-f", third]);
  expect([wrong.exitCode, wrong.stderr]).toEqual([
    2,
    expect.stringContaining("in the shell variable OTHER_URL"),
  ]);
  expect(wrong.stderr).not.toContain("nowhere");
});

test("a change of the Git server asks for its secrets again", async () => {
  const text = (host: string) =>
    file(
      `name: moved\ngit: { url: https://${host}/shop.git }\ncredential: { type: token, token: { from: GIT_TOKEN } }\nkeys: { status-token: { from: GIT_TOKEN }, notify-key: { from: GIT_TOKEN } }\n`,
    );
  const full = shell({ GIT_TOKEN: "a token" });
  expect((await full(["project", "apply", "-f", text("git.example.com")])).exitCode).toBe(0);
  expect((await slipway(["project", "apply", "-f", text("git.example.com")])).stdout).toContain("no change");
  const missing = await slipway(["project", "apply", "-f", text("other.example.com")]);
  expect(missing.stderr.match(/needs the shell variable GIT_TOKEN/g)).toHaveLength(2);
  expect((await full(["project", "apply", "-f", text("other.example.com")])).exitCode).toBe(0);
  expect((await slipway(["project", "apply", "-f", text("other.example.com")])).stdout).toContain(
    "no change",
  );
});

test("after a failure in the middle, a second apply sends the rest", async () => {
  const path = file(
    `name: halfway\n${git}secrets: { A: { from: A }, B: { from: B } }\nwebhook: { enabled: true }\n`,
  );
  const values = (size: number) => shell({ A: "a".repeat(size), B: "b".repeat(size) });
  // Together they exceed what a project may have, which only the server knows.
  const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", {
    ...{ name: "halfway", git: { url: "https://git.example.com/shop.git" } },
  });
  for (let index = 0; index < 7; index++)
    await server.admin.expect(204, "PUT", `/api/projects/${id}/secrets/OLD_${index}`, {
      value: "x".repeat(65_000),
    });
  const labelled = file(
    `name: halfway\nlabels: [gpu]\nsecrets: { A: { from: A }, B: { from: B } }\nwebhook: { enabled: true }\n`,
  );
  const failed = await values(50_000)(["project", "apply", "-f", labelled]);
  expect(failed.exitCode).toBe(1);
  expect(failed.stderr).toContain(
    "Sent before: the settings of the project, the secret A. Not sent: the secret B, the webhook. Apply the file again to send the rest.\n",
  );
  const rest = await values(100)(["project", "apply", "-f", labelled]);
  const { url } = await server.admin.expect<{ url: string }>(200, "GET", `/api/projects/${id}/webhook`);
  expect(rest.stdout).toBe(
    `Project halfway, id ${id}:\n  + secrets.B.value: "$B"\n  ~ webhook.enabled: false → true\n${rest.stdout
      .split("\n")
      .filter((line) => line.startsWith("Warning"))
      .join("\n")}\nChanged project halfway.\nAddress of its webhook: ${url}\n`,
  );
  expect((await slipway(["project", "apply", "-f", path])).stdout).toContain("no change");
});

test("each environment has secrets of its own, from shell variables of its own", async () => {
  const text = (staging: string, more = "") =>
    `name: places\n${git}secrets: { TOKEN: { from: TOKEN } }\nenvironments:\n  - name: staging\n    refs: [main]\n    secrets: { ${staging} }\n${more}`;
  const own = "TOKEN: { from: STAGING_TOKEN, scope: deploy }";
  const path = file(text(own));
  const missing = await shell({ TOKEN: "of the project" })(["project", "apply", "-f", path]);
  expect([missing.exitCode, missing.stderr]).toEqual([
    2,
    expect.stringContaining(
      "line 7, column 23: environments.0.secrets.TOKEN needs the shell variable STAGING_TOKEN",
    ),
  ]);
  const full = shell({
    TOKEN: "of the project",
    STAGING_TOKEN: "of staging",
    PRODUCTION_TOKEN: "of production",
  });
  const made = await full(["project", "apply", "-f", path]);
  expect(made).toMatchObject({ exitCode: 0, stderr: "" });
  expect(made.stdout).toContain('  + environments.0.secrets.TOKEN.value: "$STAGING_TOKEN"\n');
  const secretsOf = async (name: string) => {
    const { id } = (await projectNamed("places")) ?? { id: 0 };
    const { items } = await server.admin.expect<{ items: { name: string; projectId: number }[] }>(
      ...[200, "GET", `/api/projects/${id}/environments`],
    );
    const place = items.find((each) => each.name === name);
    return (await server.admin.expect<{ secrets: object[] }>(200, "GET", `/api/projects/${place?.projectId}`))
      .secrets;
  };
  expect(await secretsOf("staging")).toMatchObject([{ name: "TOKEN", scope: "deploy" }]);
  expect((await projectNamed("places"))?.secrets).toMatchObject([{ name: "TOKEN", scope: "all" }]);
  const noChange = { exitCode: 0, stdout: "Project places: no change.\n" };
  expect(await slipway(["project", "apply", "-f", path])).toMatchObject(noChange);

  // A new environment and its secret in one file; the export of it changes nothing.
  const two = file(
    text(
      own,
      "  - name: production\n    from: staging\n    secrets: { TOKEN: { from: PRODUCTION_TOKEN } }\n",
    ),
  );
  expect((await full(["project", "apply", "-f", two])).stdout).toContain(
    'environments.1.secrets.TOKEN.value: "$PRODUCTION_TOKEN"',
  );
  expect(await secretsOf("production")).toMatchObject([{ name: "TOKEN", scope: "all" }]);
  const exported = await slipway(["project", "export", "places"]);
  expect(exported.stdout).toContain("from: PRODUCTION_TOKEN");
  expect(exported.stdout).toContain("from: STAGING_TOKEN");
  expect(await slipway(["project", "apply", "-f", file(exported.stdout)])).toMatchObject(noChange);

  const without = file(text("TOKEN: null"));
  expect((await slipway(["project", "apply", "-f", without])).stdout).toContain(
    "- environments.0.secrets.TOKEN",
  );
  expect(await secretsOf("staging")).toEqual([]);
  const written = await slipway(["project", "apply", "-f", file(text("TOKEN: the-value"))]);
  expect(written.stderr).toContain("must name the shell variable that has the value");
});
