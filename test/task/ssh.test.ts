import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type DeployServer, startDeployServer, textOf } from "../support/deploy-server.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { serviceUrl } from "../support/services.ts";
import { makeSshKey, type Sshd, startSshd } from "../support/sshd.ts";
import { runnerFolderOf, temporaryFolder } from "../support/temporary-folder.ts";

const executable = await serviceUrl("sshd");

describe.skipIf(!executable)("a project whose repository is reached over ssh", () => {
  let folder: string;
  let dataDir: string;
  let sshd: Sshd;
  let server: DeployServer;
  let repository: GitRepository;

  beforeAll(async () => {
    folder = temporaryFolder("ssh");
    // A folder whose name the shell, ssh and git each parse differently.
    dataDir = join(folder, "Ann's 100% data");
    mkdirSync(dataDir);
    repository = await makeRepository();
    await repository.push({ "app.txt": "one\n" });
    sshd = await startSshd(executable ?? "");
    server = await startDeployServer({ "tasks.allowLocalRepositories": false }, dataDir);
  });
  afterAll(async () => {
    await server?.stop();
    await sshd?.stop();
  });

  async function project(privateKey: string | null): Promise<number> {
    const id = await server.project(sshd.url + repository.url, { build: "cat app.txt" });
    if (privateKey !== null)
      await server.admin.expect(204, "PUT", `/api/projects/${id}/credential`, { type: "ssh", privateKey });
    return id;
  }
  const runOf = async (projectId: number, ...states: ("success" | "failed")[]) =>
    server.reach((await server.run(projectId)).id, ...states);
  const newKey = async (name: string, passphrase = "") =>
    readFileSync(await makeSshKey(join(folder, name), passphrase), "utf8");

  test("is cloned with the project's key, which is in no log and is deleted afterwards", async () => {
    const task = await runOf(await project(sshd.privateKey), "success");
    const lines = await server.log(task.id);
    expect(lines.filter(({ stage }) => stage === "build").map(({ text }) => text)).toEqual(["one"]);
    expect(textOf(lines)).not.toContain("PRIVATE KEY");
    const left = readdirSync(runnerFolderOf(dataDir), { recursive: true }).map(String);
    expect(left.filter((path) => /(^|\/)(git-|key$)/.test(path))).toEqual([]);
  });

  test("fails after half a minute without data, although the ssh server itself is alive", async () => {
    const hanging = join(folder, "hanging.git");
    for (const name of ["objects", "refs"]) mkdirSync(join(hanging, name), { recursive: true });
    // The git of the host waits for a writer.
    expect(Bun.spawnSync(["mkfifo", join(hanging, "HEAD")]).exitCode).toBe(0);
    const id = await server.project(sshd.url + hanging, { build: "true" });
    const key = { type: "ssh", privateKey: sshd.privateKey };
    await server.admin.expect(204, "PUT", `/api/projects/${id}/credential`, key);
    const task = await runOf(id, "failed");
    expect(task.reason).toBe("git could not fetch main: the Git host sent nothing for 30 s");
    Bun.spawnSync(["timeout", "1", "sh", "-c", `: > ${join(hanging, "HEAD")}`]);
  }, 120_000);

  test("is cloned with a key that was pasted with CRLF line ends", async () => {
    await runOf(await project(`\r\n${sshd.privateKey.replaceAll("\n", "\r\n")}`), "success");
  });

  test("fails for a key that the host refuses, and says what to do", async () => {
    const task = await runOf(await project(await newKey("other")), "failed");
    expect(task.reason).toBe(
      `git could not fetch main: ${new URL(sshd.url).host} rejects the project's SSH key for the user ${new URL(sshd.url).username}; add its public key there as a deploy key, or store the right private key`,
    );
    expect(task.reasonParts).toMatchObject([
      { code: "fetch_failed", values: { ref: "main", why: { code: "ssh_key_rejected" } } },
    ]);
  });

  test("fails for a submodule that a deploy key does not open, and says what to store instead", async () => {
    const nested = await makeRepository();
    await nested.push({
      ".gitmodules": `[submodule "lib"]\n\tpath = lib\n\turl = ${sshd.url}/not-for-this-key/lib.git\n`,
    });
    const commit = await nested.git("rev-parse", "HEAD");
    await nested.git("update-index", "--add", "--cacheinfo", `160000,${commit},lib`);
    await nested.git("commit", "-q", "-m", "A submodule");
    await nested.git("push", "-q", "origin", "HEAD:refs/heads/main");
    const url = sshd.url + nested.url;
    const id = await server.project(url, { build: "true" }, { git: { url, submodules: true } });
    const credential = { type: "ssh", privateKey: sshd.privateKey };
    await server.admin.expect(204, "PUT", `/api/projects/${id}/credential`, credential);
    const task = await runOf(id, "failed");
    expect(task.reasonParts).toMatchObject([{ code: "submodules_key" }]);
    expect(task.reason).toContain("A deploy key opens one repository only");
  });

  test("fails without a key: keys of the runner's user are not tried", async () => {
    const task = await runOf(await project(null), "failed");
    expect(task.reason).toContain("asks for an SSH key and the project has none");
  });

  test("accepts no key with a passphrase and no truncated key", async () => {
    const id = await project(null);
    const cut = `${sshd.privateKey.slice(0, 120)}\n-----END OPENSSH PRIVATE KEY-----\n`;
    const wrong: [string, string][] = [
      [await newKey("locked", "a passphrase"), "is protected by a passphrase"],
      [cut, "is damaged or cut off"],
      [sshd.privateKey.slice(0, 200), "must be a whole private key"],
    ];
    for (const [privateKey, why] of wrong) {
      const answer = await server.admin.request("PUT", `/api/projects/${id}/credential`, {
        type: "ssh",
        privateKey,
      });
      expect([answer.status, answer.text]).toEqual([422, expect.stringContaining(why)]);
    }
  });

  test("fails for a key that ssh cannot read, with that reason", async () => {
    const nonsense = "-----BEGIN RSA PRIVATE KEY-----\nbm8ga2V5\n-----END RSA PRIVATE KEY-----\n";
    const task = await runOf(await project(nonsense), "failed");
    expect(task.reason).toContain("the project's SSH key cannot be read");
  });

  test("refuses a host whose key has changed, until a person removes the old one", async () => {
    const projectId = await project(sshd.privateKey);
    await runOf(projectId, "success");
    const knownHosts = join(dataDir, "runner/known_hosts");
    const known = readFileSync(knownHosts, "utf8");
    await sshd.changeHostKey();
    const refused = await runOf(projectId, "failed");
    expect(refused.reason).toContain(
      `the SSH host key of ${new URL(sshd.url).host} differs from the key in this runner's known_hosts`,
    );
    expect(textOf(await server.log(refused.id))).toContain(knownHosts);
    expect(readFileSync(knownHosts, "utf8")).toBe(known);
    writeFileSync(knownHosts, "");
    await runOf(projectId, "success");
  });

  test("fails with a reason while the host is away", async () => {
    const projectId = await project(sshd.privateKey);
    await sshd.kill();
    const task = await runOf(projectId, "failed");
    expect(task.reason).toContain(`${new URL(sshd.url).host} refused the SSH connection`);
    await sshd.restart();
    await runOf(projectId, "success");
  });
});
