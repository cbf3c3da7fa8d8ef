import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { adminPassword } from "../support/api-server.ts";
import { deployClient, textOf } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { installPackages } from "../support/service-install.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { makeTestUser, type TestUser } from "../support/test-user.ts";

const root = resolve(import.meta.dir, "../..");
const names = ["slipway.service", "slipway-runner.service"] as const;
const unitOf = (name: string) => Bun.file(join(root, "deploy", name)).text();
const valuesOf = (unit: string, key: string) =>
  unit.split("\n").flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []));

const users = [await makeTestUser("slipway-test"), await makeTestUser("slipway-test-2")];
const canVerify = Bun.which("systemd-analyze") !== null || (await installPackages("systemd"));
if (process.env.CI && !canVerify)
  throw new Error("systemd-analyze is not available: install the package systemd.");

describe("the shipped systemd units", () => {
  test.skipIf(!canVerify)("are valid for systemd-analyze verify", async () => {
    const folder = temporaryFolder("units");
    for (const name of names)
      writeFileSync(join(folder, name), (await unitOf(name)).replaceAll("/opt/slipway", root));
    const files = names.map((name) => join(folder, name));
    const verified = Bun.spawnSync(["systemd-analyze", "verify", ...files]);
    const told = verified.stderr.toString().split("\n");
    expect(told.filter((line) => line.includes("slipway"))).toEqual([]);
  });

  test("have two users, and the server's folder is closed to the runner's", async () => {
    const [server, runner] = await Promise.all(names.map(unitOf));
    expect(valuesOf(server ?? "", "User")).toEqual(["slipway"]);
    expect(valuesOf(runner ?? "", "User")).toEqual(["slipway-runner"]);
    expect(valuesOf(server ?? "", "StateDirectoryMode")).toEqual(["0700"]);
    expect(valuesOf(server ?? "", "UMask")).toEqual(["0077"]);
    expect(valuesOf(server ?? "", "Environment")).toContain("SLIPWAY_RUNNER_ENABLED=false");
  });
});

/** Starts the ExecStart line of a unit as a real user, with the unit's environment and files in a folder of the test. */
async function startUnit(
  name: string,
  user: TestUser,
  places: Record<string, string>,
  more: { stdin?: number; env?: Record<string, string> } = {},
) {
  let unit = (await unitOf(name)).replaceAll("/opt/slipway", root);
  for (const [from, to] of Object.entries(places)) unit = unit.replaceAll(from, to);
  const [command = ""] = valuesOf(unit, "ExecStart");
  const environment = valuesOf(unit, "Environment").map((line) => line.split(/=(.*)/s).slice(0, 2));
  return Bun.spawn(
    ["setpriv", `--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups", "--", ...command.split(" ")],
    {
      cwd: "/",
      env: { PATH: process.env.PATH ?? "", HOME: user.home, ...Object.fromEntries(environment), ...more.env },
      stdin: more.stdin ?? "ignore",
      stdout: "ignore",
      stderr: "inherit",
    },
  );
}

describe.skipIf(users.includes(undefined))("their ExecStart lines, run as two real users", () => {
  const [serverUser, runnerUser] = users as [TestUser, TestUser];
  let folder: string;
  let repository: GitRepository;
  const running: Awaited<ReturnType<typeof startUnit>>[] = [];

  beforeAll(async () => {
    folder = temporaryFolder("two-users");
    chmodSync(folder, 0o755);
    for (const [name, user] of [
      ["server", serverUser],
      ["runner", runnerUser],
      ["srv", runnerUser],
    ] as const) {
      mkdirSync(join(folder, name), { mode: name === "srv" ? 0o755 : 0o700 });
      chownSync(join(folder, name), user.uid, user.gid);
    }
    repository = await makeRepository();
    await repository.push({ "app.txt": "one\n" });
    Bun.spawnSync(["chown", "-R", `${runnerUser.uid}:${runnerUser.gid}`, join(repository.url, "..")]);
    chmodSync(join(repository.url, ".."), 0o755);
  });
  afterAll(async () => {
    for (const child of running) child.kill("SIGTERM");
    await Promise.all(running.map((child) => child.exited));
  });

  test("a script deploys to the folder it may write, and cannot read the server's data or the token", async () => {
    const port = freePort();
    const url = `http://127.0.0.1:${port}`;
    const settings = join(folder, "slipway.yaml");
    writeFileSync(settings, `server:\n  listen: 127.0.0.1:${port}\ntasks:\n  allowLocalRepositories: true\n`);
    chmodSync(settings, 0o644);
    const data = join(folder, "server");
    const places = {
      "/etc/slipway/slipway.yaml": settings,
      "/var/lib/slipway-runner": join(folder, "runner"),
      "/var/lib/slipway": data,
    };
    running.push(
      await startUnit("slipway.service", serverUser, places, {
        env: { SLIPWAY_ADMIN_PASSWORD: adminPassword },
      }),
    );
    await eventually(
      "the server is ready",
      async () => (await fetch(`${url}/readyz`).catch(() => null))?.ok === true,
    );
    const client = await deployClient(url, data);
    const { token } = await client.admin.expect<{ token: string }>(201, "POST", "/api/runners", {
      name: "two",
    });
    const tokenFile = join(folder, "runner.token");
    writeFileSync(tokenFile, token, { mode: 0o600 });
    const stdin = openSync(tokenFile, "r");
    const address = { "http://127.0.0.1:8080": url };
    running.push(await startUnit("slipway-runner.service", runnerUser, { ...places, ...address }, { stdin }));
    closeSync(stdin);

    const projectId = await client.project(repository.url, {
      build: `id -un; ls ${data} 2>&1 || true; cat ${tokenFile} ${data}/slipway.db >/dev/null 2>&1 && echo LEAK || echo closed`,
      deploy: `mkdir -p ${folder}/srv/shop; cp app.txt ${folder}/srv/shop/; touch ${folder}/elsewhere 2>/dev/null && echo LEAK || echo refused`,
    });
    const { id } = await client.run(projectId);
    await client.reach(id, "success");
    const text = textOf(await client.log(id));
    expect(text).toContain(`${runnerUser.name}\n`);
    expect(text).toContain("closed");
    expect(text).toContain("refused");
    expect(text).not.toContain("LEAK");
    expect(await Bun.file(join(folder, "srv/shop/app.txt")).text()).toBe("one\n");
  });
});
