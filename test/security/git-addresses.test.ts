import { afterAll, describe, expect, test } from "bun:test";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { checkAddress } from "../../src/git/checked-address.ts";
import { openGitEnvironment } from "../../src/git/git-environment.ts";
import { runGit } from "../../src/git/run-git.ts";
import { type ApiServer, startApiServer } from "../support/api-server.ts";
import { setUpApi } from "../support/api-setup.ts";
import { eventually } from "../support/eventually.ts";
import { serveGit } from "../support/git-http-server.ts";
import { makeRepository } from "../support/git-repository.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** An internal service that counts who connects. */
let connections = 0;
const internal = createServer((socket) => {
  connections++;
  socket.on("error", () => {});
  socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
});
await new Promise<void>((resolve) => internal.listen(0, "127.0.0.1", resolve));
const port = (internal.address() as AddressInfo).port;
afterAll(() => void internal.close());

async function problemOf(server: ApiServer, url: string): Promise<string> {
  const body = await server.admin.expect<{ problem: string }>(200, "POST", "/api/repositories/inspect", {
    url,
  });
  return body.problem;
}

describe("this server", async () => {
  const server = await setUpApi();

  const addresses = [
    "https://127.0.0.1:PORT/shop.git",
    "https://localhost:PORT/shop.git",
    "https://2130706433:PORT/shop.git",
    "https://[0:0:0:0:0:ffff:7f00:1]:PORT/shop.git",
    "ssh://git@127.0.0.1:PORT/shop.git",
    "ssh://git@localhost:PORT/shop.git",
    "ssh://git@2130706433:PORT/shop.git",
    "git@localhost:shop.git",
    "git@0x7f000001:shop.git",
  ];
  test.each(addresses)("reads no repository at the internal address %s", async (address) => {
    connections = 0;
    expect(await problemOf(server, address.replace("PORT", String(port)))).toContain("internal address");
    expect(connections).toBe(0);
  });

  test.each(["https", "ssh"])("polls no repository at an internal address over %s", async (scheme) => {
    connections = 0;
    const project = { name: scheme, git: { url: `${scheme}://localhost:${port}/shop.git` } };
    const { id } = await server.admin.expect<{ id: number }>(201, "POST", "/api/projects", project);
    const hook = `/api/projects/${id}/webhook`;
    await server.admin.expect(200, "PUT", hook, { enabled: true, provider: "gitea" });
    await server.admin.expect(204, "PUT", `/api/projects/${id}/credential`, {
      ...{ type: "token", username: "git", token: "a token" },
    });
    await eventually("the poll says why", async () =>
      (await server.admin.request("GET", hook)).text.includes("internal address"),
    );
    expect(connections).toBe(0);
  });

  test("says that a host is not known", async () => {
    expect(await problemOf(server, "https://no-such-host.invalid/shop.git")).toContain("is not known");
  });
});

test("the origin of a Git server in hosts.trusted is read, and ssh at its host, but no other port", async () => {
  const server = await startApiServer({ "hosts.trusted": [`https://localhost:${port}`] });
  const connected = async (url: string) => {
    connections = 0;
    const problem = await problemOf(server, url);
    return { isConnected: connections > 0, isRefused: problem.includes("internal address") };
  };
  for (const url of [`https://localhost:${port}/shop.git`, `ssh://git@localhost:${port}/shop.git`])
    expect([url, await connected(url)]).toEqual([url, { isConnected: true, isRefused: false }]);
  for (const url of [`https://127.0.0.1:${port}/shop.git`, `https://localhost:${port + 1}/shop.git`])
    expect([url, await connected(url)]).toEqual([url, { isConnected: false, isRefused: true }]);
  await server.stop();
});

test("a redirect is followed at large public hosts only, and names of a proxy are left to it", async () => {
  const rules = { allowInternal: false, trusted: [] };
  const ofAddress = await checkAddress("https://93.184.216.34/shop.git", rules, {});
  expect(ofAddress).toEqual({ git: { "http.followRedirects": "false" }, ssh: {}, address: "93.184.216.34" });
  const proxied = { https_proxy: "http://proxy.example.com:3128" };
  const unknown = (url: string) => checkAddress(url, rules, proxied);
  expect(await unknown("https://github.invalid/a.git")).toEqual({
    ...{ git: { "http.followRedirects": "false" }, ssh: {} },
  });
  expect(await unknown("ssh://git@github.invalid/a.git")).toMatchObject({ code: "git_host_unknown" });
  expect(await unknown("https://localhost/a.git")).toMatchObject({ code: "address_internal" });
});

test("git connects to the address that was checked, whatever the name resolves to now", async () => {
  const repository = await makeRepository();
  const commit = await repository.push({ "app.txt": "one\n" });
  const git = serveGit(join(repository.url, ".."), null);
  const temp = temporaryFolder("pinned");
  const { port: gitPort } = new URL(git.url);
  const url = `http://git.invalid:${gitPort}/shop.git`;
  const environment = openGitEnvironment(
    { url, credential: null, allowLocal: true, trusted: [] },
    { temp, knownHosts: join(temp, "known") },
    { PATH: process.env.PATH },
    { git: { "http.curloptResolve": `git.invalid:${gitPort}:127.0.0.1` }, ssh: {} },
  );
  const run = await runGit({
    ...{ args: ["ls-remote", url], env: environment.env, cwd: temp },
    ...{ timeoutMs: 20_000, maxOutputBytes: 10_000, stop: new AbortController().signal },
  });
  expect([run.problems, run.output]).toEqual(["", expect.stringContaining(commit)]);
  git.stop();
});
