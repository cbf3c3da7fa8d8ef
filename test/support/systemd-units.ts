import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { adminPassword } from "./api-server.ts";
import { deployFolder } from "./compose.ts";
import { deployClient, textOf } from "./deploy-server.ts";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { type GitRepository, makeRepository } from "./git-repository.ts";
import { installPackages } from "./service-install.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { makeTestUser, type TestUser } from "./test-user.ts";

export const unitNames = ["slipway.service", "slipway-runner.service"] as const;
export const unitOf = (name: string) => Bun.file(join(deployFolder, name)).text();
export const valuesOf = (unit: string, key: string) =>
  unit.split("\n").flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []));

const users = [await makeTestUser("slipway-test"), await makeTestUser("slipway-test-2")];
const canVerify = Bun.which("systemd-analyze") !== null || (await installPackages("systemd"));
if (process.env.CI && !canVerify)
  throw new Error("systemd-analyze is not available: install the package systemd.");

/** The shipped systemd units with a program in `<root>/bin/slipway`, which is /opt/slipway in the units. */
export function describeUnits(root: string): void {
  test.skipIf(!canVerify)("the units are valid for systemd-analyze verify", async () => {
    const folder = temporaryFolder("units");
    for (const name of unitNames)
      writeFileSync(join(folder, name), (await unitOf(name)).replaceAll("/opt/slipway", root));
    const files = unitNames.map((name) => join(folder, name));
    const verified = Bun.spawnSync(["systemd-analyze", "verify", ...files]);
    const told = verified.stderr.toString().split("\n");
    expect(told.filter((line) => line.includes("slipway"))).toEqual([]);
  });

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
      writeFileSync(
        settings,
        `server:\n  listen: 127.0.0.1:${port}\ntasks:\n  allowLocalRepositories: true\n`,
      );
      chmodSync(settings, 0o644);
      const data = join(folder, "server");
      const places = {
        "/etc/slipway/slipway.yaml": settings,
        "/var/lib/slipway-runner": join(folder, "runner"),
        "/var/lib/slipway": data,
      };
      running.push(
        await startUnit(root, "slipway.service", serverUser, places, {
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
      const address = {
        "http://127.0.0.1:8080": url,
        "Restart=on-failure": "Environment=SLIPWAY_RUNNER_HOST_STEPS=true",
      };
      running.push(
        await startUnit(root, "slipway-runner.service", runnerUser, { ...places, ...address }, { stdin }),
      );
      closeSync(stdin);

      const build = `id -un; ls ${data} 2>&1 || true; cat ${tokenFile} ${data}/slipway.db >/dev/null 2>&1 && echo LEAK || echo closed`;
      const deploy = `mkdir -p ${folder}/srv/shop; cp app.txt ${folder}/srv/shop/; touch ${folder}/elsewhere 2>/dev/null && echo LEAK || echo refused`;
      const pipeline = { build: [{ script: build }], deploy: [{ script: deploy, host: true }] };
      const projectId = await client.project(repository.url, {}, { pipeline });
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
}

/** Starts the ExecStart line of a unit as a real user, with the unit's environment and files in a folder of the test. */
async function startUnit(
  root: string,
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
