import { afterAll, beforeAll, expect, test } from "bun:test";
import { dirname, join } from "node:path";
import { adminPassword } from "../support/api-server.ts";
import { freePort } from "../support/free-port.ts";
import { serveGit } from "../support/git-http-server.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { reportPushesAsGitea } from "../support/gitea-hook.ts";
import { examplesOf, runPage } from "../support/page-examples.ts";
import { endScriptsIn } from "../support/process-watch.ts";
import type { ProjectAnswer } from "../support/release-scene.ts";
import { type ServerProcess, startServerProcess } from "../support/server-process.ts";
import { installPackages } from "../support/service-install.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const tools = ["curl", "openssl", "jq", "git"];
const missing = tools.filter((tool) => Bun.which(tool) === null);
if (missing.length > 0) await installPackages(...missing);

const folder = temporaryFolder("guide");
const port = freePort();
let server: ServerProcess;
let repository: GitRepository;
let git: ReturnType<typeof serveGit>;

beforeAll(async () => {
  repository = await makeRepository();
  git = serveGit(dirname(repository.url), null);
  server = await startServerProcess(join(folder, "data"));
});
afterAll(async () => {
  await server.end("SIGINT");
  await git.stop();
  endScriptsIn(folder);
});

const served = async () => (await fetch(`http://127.0.0.1:${port}/`, { keepalive: false })).text();

test("the commands of docs/tasks.md lead from a repository to a service that rolls back by itself", async () => {
  const examples = await examplesOf("tasks.md", {
    "http://127.0.0.1:8080": server.url,
    "https://git.example.com/ann/hello.git": `${git.url}/shop.git`,
    "3000": String(port),
    // Lives for a second, so that the runner sees it.
    "1i throw": "1i Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000); throw",
  });
  const seen: { text: string; task: string }[] = [];
  const outputs = await runPage(examples, {
    folder,
    env: {
      GIT_AUTHOR_NAME: "Ann",
      GIT_AUTHOR_EMAIL: "ann@example.com",
      GIT_COMMITTER_NAME: "Ann",
      GIT_COMMITTER_EMAIL: "ann@example.com",
    },
    typed: `${adminPassword}\n`,
    async after(_, output) {
      const [, address, secret] = /^address: (\S+)\nsecret: {2}(\S+)$/m.exec(output) ?? [];
      if (address && secret) reportPushesAsGitea(repository, address, secret);
      if (output.includes("from ")) {
        const { liveTaskId } = await server.admin.expect<ProjectAnswer>(200, "GET", "/api/projects/1");
        seen.push({ text: await served(), task: (await server.task(liveTaskId ?? 0)).commit ?? "" });
      }
    },
  });
  expect(outputs.length).toBe(examples.filter(({ language }) => language === "sh").length);
  // After each deploy, the commit of the live task is the commit that the port serves.
  expect(seen.map(({ text, task }) => text.includes(task) && task !== "")).toEqual(seen.map(() => true));
  const [first, second, afterFailure, rolledBack, waiting, approved] = seen.map(({ task }) => task);
  expect(seen.length).toBe(6);
  expect(second).not.toBe(first ?? "");
  expect(afterFailure).toBe(second ?? "");
  expect(rolledBack).toBe(second ?? "");
  expect(waiting).toBe(second ?? "");
  expect(approved).not.toBe(second ?? "");
}, 180_000);
