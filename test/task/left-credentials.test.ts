import { afterAll, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setUpServerProcess } from "../support/deploy-setup.ts";
import { eventually } from "../support/eventually.ts";
import { makeSshKey } from "../support/sshd.ts";
import { runnerFolderOf, temporaryFolder } from "../support/temporary-folder.ts";

/** An SSH server that accepts connections and never says a word. */
const silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
const url = `ssh://git@127.0.0.1:${silent.port}/shop.git`;
const folder = temporaryFolder("left");
const privateKey = readFileSync(await makeSshKey(join(folder, "key")), "utf8");
const credential = { type: "ssh", privateKey };
const { server, dataDir, start } = await setUpServerProcess();
afterAll(() => silent.stop(true));

/** The file of the key that git uses now. */
async function keyIn(cwd: string, name: string): Promise<string> {
  let file: string | undefined;
  await eventually("git has the key", () => {
    if (existsSync(cwd)) [file] = new Bun.Glob(`${name}/**/key`).scanSync({ cwd, absolute: true });
    return file !== undefined && readFileSync(file, "utf8") === privateKey;
  });
  return file ?? "";
}

test("the SSH key of a checkout that kill -9 of the runner has ended is removed by the next runner", async () => {
  const projectId = await server.project(url, { build: "true" });
  await server.admin.expect(204, "PUT", `/api/projects/${projectId}/credential`, credential);
  const { id } = await server.run(projectId);
  const key = await keyIn(runnerFolderOf(dataDir), "tmp");
  const killed = server.runnerPid();
  process.kill(killed, "SIGKILL");
  await eventually("another runner is started", () => server.runnerPid() !== killed);
  await eventually("the key is removed", () => !existsSync(key));
  expect(statSync(join(runnerFolderOf(dataDir), "tmp")).mode & 0o777).toBe(0o700);
  await server.admin.expect(200, "POST", `/api/tasks/${id}/cancel`);
});

test("the SSH key of a repository that was read when the server was killed is removed by the next server", async () => {
  const reading = server.admin
    .request("POST", "/api/repositories/inspect", { url, credential })
    .catch(() => null);
  const key = await keyIn(dataDir, "set-up");
  await server.end("SIGKILL");
  await reading;
  await start();
  await eventually("the key is removed", () => !existsSync(key));
});
