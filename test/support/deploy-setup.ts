import { afterAll } from "bun:test";
import { type DeployServer, startDeployServer } from "./deploy-server.ts";
import { eventually } from "./eventually.ts";
import { type GitRepository, makeRepository } from "./git-repository.ts";
import { endScriptsIn, isAlive } from "./process-watch.ts";
import { type ServerProcess, startServerProcess } from "./server-process.ts";
import { runnerFolderOf, temporaryFolder } from "./temporary-folder.ts";

/** A server with its local runner, and a repository with one commit, for the tests of one file. */
export async function setUpDeploy(
  settings: Parameters<typeof startDeployServer>[0] = {},
  message = "Sell apples",
): Promise<{ server: DeployServer; repository: GitRepository; commit: string }> {
  const repository = await makeRepository();
  const commit = await repository.push({ "app.txt": "one\n" }, { message });
  const server = await startDeployServer(settings);
  afterAll(async () => {
    await server.stop();
    server.remove();
  });
  return { server, repository, commit };
}

/** The same with the server as a separate process. `start` starts the next one on the same data after a kill. */
export async function setUpServerProcess(
  settings: Parameters<typeof startServerProcess>[1] = {},
  prefix: readonly string[] = [],
): Promise<{
  server: ServerProcess;
  repository: GitRepository;
  dataDir: string;
  start: () => Promise<ServerProcess>;
}> {
  const dataDir = temporaryFolder("process");
  const repository = await makeRepository();
  await repository.push({ "app.txt": "one\n" });
  let server: ServerProcess;
  const start = async () => {
    server = await startServerProcess(dataDir, settings, [], {}, undefined, prefix);
    return server;
  };
  server = await start();
  afterAll(async () => {
    const runner = server.runnerPid();
    await server.end("SIGINT");
    await eventually("the idle runner ends with its server", () => !isAlive(runner));
    endScriptsIn(dataDir);
    endScriptsIn(runnerFolderOf(dataDir));
  });
  return { server, repository, dataDir, start };
}
