import { afterEach, describe, expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../src/config/config.ts";
import { signInAt } from "../support/api-server.ts";
import { type DeployServer, startDeployServer, textOf } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { testImage } from "../support/podman.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { makeTestUser } from "../support/test-user.ts";

const [podman, bwrap] = [await serviceUrl("podman"), await serviceUrl("bwrap")];
const user = await makeTestUser();
let server: DeployServer | undefined;
let repository: GitRepository | undefined;
let folder = "";
afterEach(async () => {
  await server?.stop();
  server = undefined;
});

/** Everything that would make a manager an admin: each line that begins with LEAK is a success of the attack. */
function attack(dataDir: string, pids: number[], url: string): string {
  const { port } = new URL(url);
  return [
    "set +e",
    `find ${dataDir} -type f -readable 2>/dev/null | sed 's/^/LEAK file /'`,
    `for name in slipway.db slipway.key runner/local.json runner/runner.log; do cat ${dataDir}/$name >/dev/null 2>&1 && echo "LEAK $name"; done`,
    `echo x >>${dataDir}/slipway.db 2>/dev/null && echo "LEAK written"`,
    ...pids.flatMap((pid) => [
      `cat /proc/${pid}/environ >/dev/null 2>&1 && echo "LEAK environment of ${pid}"`,
      `head -c 1 /proc/${pid}/mem >/dev/null 2>&1; ls /proc/${pid}/fd >/dev/null 2>&1 && echo "LEAK files of ${pid}"`,
      `ls /proc/${pid}/root/ 2>/dev/null | grep -q . && echo "LEAK root of ${pid}"`,
      `kill -0 ${pid} 2>/dev/null && echo "LEAK signal to ${pid}"`,
    ]),
    "cat /dev/shm/slipway-env-*/env 2>/dev/null | grep -q . && echo 'LEAK secrets in memory'",
    "sudo -n true 2>/dev/null && echo 'LEAK sudo'",
    "ls /var/run/docker.sock /run/podman/podman.sock 2>/dev/null | sed 's/^/LEAK socket /'",
    'touch "$(dirname "$CI_WORKSPACE")/x" "$(dirname "$0")/x" 2>/dev/null && echo "LEAK folders of the runner"',
    `[ -f /.dockerenv ] || [ -f /run/.containerenv ] || exit 0`,
    `echo x | nc -w 1 127.0.0.1 ${port} && echo 'LEAK loopback'`,
    "exit 0",
  ].join("\n");
}

/** Ann manages one project and is no admin. Answers the lines of the log that tell of a success. */
async function leaks(settings: Partial<Config>, project: Record<string, unknown> = {}): Promise<string[]> {
  folder = temporaryFolder("attack");
  // As after `mkdir` by hand, or systemd's StateDirectory: others may enter.
  chmodSync(folder, 0o755);
  repository = await makeRepository();
  await repository.push({ "app.txt": "one\n" });
  const root = temporaryFolder("work");
  const running = await startDeployServer({ "runner.dir": root, ...settings }, folder);
  server = running;
  const { admin } = running;
  const projectId = await running.project(repository.url, { build: "true" }, project);
  const password = "a long password of Ann";
  const { id } = await admin.expect<{ id: number }>(201, "POST", "/api/users", {
    username: "ann",
    password,
    role: "user",
  });
  await admin.expect(200, "PUT", `/api/projects/${projectId}/members/${id}`, { permission: "manage" });
  const ann = await signInAt(running.url, "ann", password);
  const build = attack(folder, [process.pid, running.runnerPid()], running.url);
  await ann.expect(200, "PATCH", `/api/projects/${projectId}`, { stages: { build: { script: build } } });
  const task = await ann.expect<{ id: number }>(201, "POST", `/api/projects/${projectId}/tasks`, {});
  const ended = await running.reach(task.id);
  expect(ended.state).toBe("success");
  const text = textOf(await running.log(task.id));
  return text.split("\n").filter((line) => line.startsWith("LEAK"));
}

const isolationOf = async () => {
  const { items } = await (server as DeployServer).admin.expect<{ items: { isolation: string }[] }>(
    200,
    "GET",
    "/api/runners",
  );
  return items.map(({ isolation }) => isolation);
};

describe.skipIf(!user)("a manager who writes scripts in order to become an admin", () => {
  test("fails where scripts run as another user, without a sandbox; as the runner's user it would succeed", async () => {
    expect(await leaks({ "runner.user": user?.name ?? "", "runner.engine": "none" })).toEqual([]);
    expect(await isolationOf()).toEqual(["none"]);
    const { runnerPid, url } = server as DeployServer;
    const script = attack(folder, [process.pid, runnerPid()], url);
    const env = { ...process.env, CI_WORKSPACE: join(folder, "x/y") };
    expect(Bun.spawnSync(["sh", "-c", script], { env }).stdout.toString()).toContain("LEAK slipway.db");
  });

  test.skipIf(!bwrap)("fails where scripts run in sandboxes", async () => {
    expect(await leaks({ "runner.isolation": "sandbox", "runner.engine": "none" })).toEqual([]);
    expect(await isolationOf()).toEqual(["sandbox"]);
  });

  test.skipIf(!podman)(
    "fails where all scripts run in containers, also in a project that names no image",
    async () => {
      const engine = {
        "runner.engine": "podman",
        "runner.engineArguments": (podman ?? "").split(","),
        "runner.image": testImage,
      } as const;
      expect(await leaks(engine)).toEqual([]);
      expect(await isolationOf()).toEqual(["container"]);
      const { isExposed } = await (server as DeployServer).admin.expect<{ isExposed: boolean }>(
        200,
        "GET",
        "/api/runners/isolation",
      );
      expect(isExposed).toBe(false);
      await eventually("no container is left", () => {
        const left = Bun.spawnSync(["podman", "ps", "-aq", "--filter", "label=slipway.task"]);
        return left.stdout.toString().trim() === "";
      });
    },
  );
});
