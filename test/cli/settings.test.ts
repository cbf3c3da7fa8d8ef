import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildCli } from "../support/cli.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const slipway = buildCli({});

function fileOf(yaml: string): string {
  const path = join(temporaryFolder("settings"), "slipway.yaml");
  writeFileSync(path, yaml);
  return path;
}

test("a misspelt key, a wrong type and a bad URL give three errors in one run, each with key and remedy, exit 2", async () => {
  const file = fileOf("push:\n  pong-timeot: 60\n  max-connections: many\n  verify-uri: nowhere\n");
  for (const command of [["config", "check"], ["start"]]) {
    const run = await slipway([...command, "--config", file]);
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toContain("3 settings are wrong");
    expect(run.stderr).toContain("push.pong-timeot: is no setting; did you mean push.pong-timeout?");
    expect(run.stderr).toContain('push.max-connections: "many" must be a whole number');
    expect(run.stderr).toContain(
      'push.verify-uri: "nowhere" must be a URL that starts with http:// or https://',
    );
  }
});

test("config check --json prints the mistakes as JSON", async () => {
  const run = await slipway([
    "config",
    "check",
    "--config",
    fileOf("webhook:\n  maxBodyKB: big\n"),
    "--json",
  ]);
  expect(run.exitCode).toBe(2);
  expect(run.json()).toMatchObject({ ok: false, faults: [{ key: "webhook.maxBodyKB" }] });
});

test("a base URL with a trailing slash is a start-up error", async () => {
  const run = await slipway(["start", "--server-base-url", "https://deploy.example.com/"]);
  expect(run.exitCode).toBe(2);
  expect(run.stderr).toContain("must not end with a /");
});

test("an empty SLIPWAY_CONFIG names no settings file", async () => {
  const run = await buildCli({ SLIPWAY_CONFIG: "" })(["config", "check"]);
  expect(run).toMatchObject({ exitCode: 0, stderr: "" });
});

test("a settings file in the data folder is refused unless it is named or in the current folder", async () => {
  const file = fileOf("push:\n  pong-timeout: 90s\n");
  const check = (...more: string[]) => slipway(["config", "check", "--data-dir", dirname(file), ...more]);
  expect(await check()).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining(`${file}: exists and is not read`),
  });
  expect(await check("--config", file)).toMatchObject({ exitCode: 0, stderr: "" });
});

test("config print shows the current settings and masks secrets", async () => {
  const file = fileOf("push:\n  api-keys: [first-key-of-two, second]\n  pong-timeout: 90s\n");
  const run = await slipway(["config", "print", "--config", file, "--json"]);
  expect(run.exitCode).toBe(0);
  expect(run.json()).toMatchObject({ "push.api-keys": "********", "push.pong-timeout": "90s" });
  expect(run.stdout).not.toContain("first-key-of-two");
});

test("what config print wrote is a settings file: printed again it is the same", async () => {
  const file = fileOf(
    "push:\n  pong-timeout: 5m\n  resume: { age: 1500ms, bytes: 8 MiB }\ntasks: { timeout: 2h }\n",
  );
  const first = await slipway(["config", "print", "--config", file]);
  expect(first.stdout).toContain('push.pong-timeout: "5m"');
  const again = await slipway(["config", "print", "--config", fileOf(first.stdout)]);
  expect(again).toMatchObject({ exitCode: 0, stdout: first.stdout });
});

test("flags win over the environment, the environment over the file", async () => {
  const file = fileOf("push:\n  max-connections: 1\n  max-message-bytes: 1\n  resume: { bytes: 1 }\n");
  const withEnvironment = buildCli({
    SLIPWAY_CONFIG: file,
    SLIPWAY_PUSH_MAX_MESSAGE_BYTES: "2",
    SLIPWAY_PUSH_RESUME_BYTES: "2",
  });
  const run = await withEnvironment(["config", "print", "--json", "--push-resume-bytes", "3"]);
  expect(run.json()).toMatchObject({
    "push.max-connections": 1,
    "push.max-message-bytes": 2,
    "push.resume.bytes": 3,
  });
});

test("a setting of an earlier version is refused with what to write instead, wherever it stands", async () => {
  const file = fileOf("push:\n  resume: { messages: 20000 }\n");
  const inFile = await buildCli({ SLIPWAY_CONFIG: file })(["config", "check"]);
  const inEnvironment = await buildCli({ SLIPWAY_PUSH_RESUME_MESSAGES: "20000" })(["config", "check"]);
  const asFlag = await slipway(["config", "check", "--push-resume-messages", "20000"]);
  for (const run of [inFile, inEnvironment, asFlag]) {
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toContain("was removed in version 2.0");
    expect(run.stderr).toContain("push.resume.bytes");
  }
});

test("a flag that is true or false may have no value: the next flag is not taken for it", async () => {
  const flags = ["--push-accept-client-message", "--push-max-connections", "3"];
  const on = await slipway(["config", "print", "--json", ...flags]);
  expect(on.json()).toMatchObject({ "push.accept-client-message": true, "push.max-connections": 3 });
  const off = await slipway(["config", "print", "--json", "--push-accept-client-message", "false"]);
  expect(off.json()).toMatchObject({ "push.accept-client-message": false });
});

test("every command has --help, and an unknown one exits with 2", async () => {
  const top = await slipway(["--help"]);
  const commands = [...top.stdout.matchAll(/^ {2}([a-z]+)[ [<]/gm)].map((match) => match[1] ?? "");
  expect(commands.length).toBeGreaterThan(12);
  const named = commands.filter((name) => name !== "help");
  const runs = await Promise.all(named.map((command) => slipway([command, "--help"])));
  for (const [i, run] of runs.entries()) {
    expect(run.exitCode).toBe(0);
    expect(run.stdout).toContain(`slipway ${named[i]}`);
  }
  expect((await slipway(["lunch"])).exitCode).toBe(2);
});
