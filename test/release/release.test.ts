import { beforeAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { adminPassword } from "../support/api-server.ts";
import { eventually } from "../support/eventually.ts";
import { makeRepository } from "../support/git-repository.ts";
import { makeHook } from "../support/hook.ts";
import { startCollector } from "../support/otlp-collector.ts";
import { PushClient } from "../support/push-client.ts";
import { startPushProcess } from "../support/push-process.ts";
import {
  executableName,
  makeRelease,
  outputOf,
  releaseFolder,
  releaseWithinMs,
} from "../support/release-folder.ts";
import { startServerProcess } from "../support/server-process.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startVerifyService } from "../support/verify-service.ts";

const executableArm64 = `slipway-${manifest.version}-linux-arm64`;
const arm64 = await serviceUrl("arm64");
const helm = await serviceUrl("helm");
const python = await serviceUrl("python");

let out = "";
beforeAll(async () => {
  out = await releaseFolder();
}, releaseWithinMs);

test("a release has checksums, an SBOM, licences, changes, the chart and the clients", async () => {
  expect(readdirSync(out).sort()).toEqual(
    [
      "CHANGELOG.md",
      "LICENCES.txt",
      "SHA256SUMS",
      "pipeline-schema.json",
      "sbom.cdx.json",
      executableName,
      executableArm64,
      `slipway-${manifest.version}.tgz`,
      `slipway-push-${manifest.version}.jar`,
      `slipway-push-${manifest.version}.pom`,
      "deploy",
      `slipway-push-${manifest.version}.tgz`,
      `slipway_push-${manifest.version}-py3-none-any.whl`,
      `slipway-manual-${manifest.version}.tgz`,
    ].sort(),
  );
  expect(await outputOf(["sha256sum", "--check", "SHA256SUMS"], out)).toContain(`${executableName}: OK`);
  expect(readFileSync(join(out, "SHA256SUMS"), "utf8")).toContain("  deploy/Dockerfile\n");
  for (const name of (await outputOf(["git", "ls-files", "deploy"])).trim().split("\n"))
    expect([name, existsSync(join(out, name))]).toEqual([name, true]);
  const bill = JSON.parse(readFileSync(join(out, "sbom.cdx.json"), "utf8"));
  expect(bill).toMatchObject({ bomFormat: "CycloneDX", metadata: { component: { name: "slipway" } } });
  const licences = readFileSync(join(out, "LICENCES.txt"), "utf8");
  for (const name of Object.keys(manifest.dependencies)) {
    expect(bill.components.map((component: { name: string }) => component.name)).toContain(name);
    expect(licences).toContain(`\n${name} `);
  }
  expect(readFileSync(join(out, "CHANGELOG.md"), "utf8")).toStartWith("## ");
});

test.skipIf(!helm)("the chart is one for Helm", async () => {
  const chart = join(out, `slipway-${manifest.version}.tgz`);
  const values = ["--set", "baseUrl=https://deploy.example.com"];
  expect(await outputOf([helm ?? "", "lint", chart, ...values])).toContain("0 chart(s) failed");
  const rendered = await outputOf([helm ?? "", "template", "demo", chart, ...values]);
  expect(rendered).toContain(`image: "slipway:${manifest.version}"`);
});

test("the packages of the clients can be used", async () => {
  const wheel = join(out, `slipway_push-${manifest.version}-py3-none-any.whl`);
  const load =
    "import sys; sys.path.insert(0, sys.argv[1]); import slipway_push; print(slipway_push.__file__)";
  expect(await outputOf([python ?? "", "-c", load, wheel])).toBe(`${wheel}/slipway_push/__init__.py\n`);
  const jar = join(out, `slipway-push-${manifest.version}.jar`);
  expect(await outputOf(["javap", "-cp", jar, "dev.slipway.push.SlipwayPush"])).toContain(
    "class dev.slipway.push.SlipwayPush",
  );
  expect(readFileSync(jar.replace(/jar$/, "pom"), "utf8")).toContain(
    `<version>${manifest.version}</version>`,
  );
});

test(
  "a second build in another folder has the same checksums",
  async () => {
    const second = await makeRelease(join(temporaryFolder("release"), "in/another/folder"));
    expect(readFileSync(join(second, "SHA256SUMS"), "utf8")).toBe(
      readFileSync(join(out, "SHA256SUMS"), "utf8"),
    );
  },
  releaseWithinMs,
);

test("the executable names its version, commit and system, and no folder of the build", async () => {
  const commit = (await outputOf(["git", "rev-parse", "--short=12", "HEAD"])).trim();
  const text = await outputOf([join(out, executableName), "version"]);
  expect(text).toBe(`${manifest.version} (commit ${commit}, linux-x64)\n`);
  expect(readFileSync(join(out, executableName)).includes(dirname(dirname(out)))).toBe(false);
});

test.skipIf(!arm64)("the executable of arm64 serves clients", async () => {
  const command = [...(arm64 ?? "").split(" "), join(out, executableArm64)];
  expect(await outputOf([...command, "version"])).toEndWith(", linux-arm64)\n");
  const verify = startVerifyService();
  const gateway = await startPushProcess("arm64", { "push-verify-uri": verify.url }, command);
  const client = await PushClient.open(`${gateway.url.replace("http", "ws")}/ws?code=42`);
  const published = await fetch(`${gateway.url}/feign/publish`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ targetType: "user", target: "42", data: "from arm64" }),
  });
  expect(published.status).toBe(200);
  await eventually("the message arrives", () => client.frames.includes("from arm64"));
  client.close();
  await gateway.end("SIGTERM");
  expect(gateway.exitCode()).toBe(0);
  await verify.stop();
});

test("uncommitted changes and unknown systems are refused", async () => {
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, "../../scripts/release.ts"), "--only", "plan9"],
    {
      stderr: "pipe",
    },
  );
  expect(await new Response(child.stderr).text()).toStartWith(
    "There is no system plan9; there are linux-x64,",
  );
  expect(await child.exited).toBe(1);
});

/** A folder that has nothing but the executable, git and a shell, with the libraries that they name. */
async function emptySystem(): Promise<string> {
  const folder = temporaryFolder("empty-system");
  for (const name of ["proc", "dev", "tmp", "data", "bin"]) mkdirSync(join(folder, name));
  for (const [name, minor] of [
    ["null", "3"],
    ["urandom", "9"],
  ] as const)
    await outputOf(["mknod", "-m", "666", join(folder, "dev", name), "c", "1", minor]);
  const programs = { slipway: join(out, executableName), git: "git", sh: "sh", cat: "cat", env: "env" };
  for (const [name, program] of Object.entries(programs)) {
    const path = Bun.which(program) ?? program;
    cpSync(path, join(folder, "bin", name), { dereference: true });
    for (const library of await librariesOf(path))
      cpSync(library, join(folder, library), { dereference: true });
  }
  symlinkSync("git", join(folder, "bin/git-upload-pack"));
  return folder;
}

async function librariesOf(program: string): Promise<string[]> {
  const child = Bun.spawn(["ldd", program], { stdout: "pipe", stderr: "ignore" });
  return (await new Response(child.stdout).text()).match(/\/[^\s]+\.so[^\s]*/g) ?? [];
}

describe("the executable in a folder without anything else", () => {
  // A folder becomes the root of a process only for root.
  test.skipIf(process.getuid?.() !== 0)(
    "signs in, publishes, takes a delivery and runs its task",
    async () => {
      const folder = await emptySystem();
      const repository = await makeRepository();
      const commit = await repository.push({ "hello.txt": "hello" });
      cpSync(repository.url, join(folder, "shop.git"), { recursive: true });
      // Not as root: a runner that is root needs setpriv, and an account for scripts.
      const user = "60998:60998";
      for (const name of ["data", "tmp", "shop.git"])
        await outputOf(["chown", "-R", user, join(folder, name)]);
      const enter = `mount -t proc proc "$0/proc" && exec chroot --userspec=${user} "$0" /bin/env -i "$@"`;
      const environment = ["PATH=/bin", "HOME=/data", `SLIPWAY_ADMIN_PASSWORD=${adminPassword}`];
      const collector = startCollector();
      const traces = { "telemetry-otlp-endpoint": collector.url };
      const server = await startServerProcess("/data", traces, [], {}, [
        ...["unshare", "--mount", "sh", "-c", enter, folder],
        ...[...environment, "/bin/slipway"],
      ]);
      const { code } = await server.admin.expect<{ code: string }>(201, "POST", "/api/push/codes", {
        userId: "42",
      });
      const client = await PushClient.open(`${server.url.replace("http", "ws")}/ws?code=${code}`);
      const published = await fetch(`${server.url}/feign/publish`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ targetType: "user", target: "42", data: "it is live" }),
      });
      expect(published.status).toBe(200);
      expect((await fetch(`${server.url}/manual/push.html`)).status).toBe(200);
      await eventually("the message arrives", () => client.frames.includes("it is live"));
      client.close();
      const hook = await makeHook(
        server,
        { provider: "generic", debounceSeconds: 0 },
        { git: { url: "/shop.git", ref: "main" }, stages: { build: { script: "cat hello.txt" } } },
      );
      const delivered = await hook.deliver({ payload: { ref: "refs/heads/main", after: commit } });
      expect(delivered.status).toBe(202);
      const task = await server.reach(Number(delivered.body.taskId), "success");
      await server.logged(task.id, "hello");
      await collector.trace("task", { "slipway.task.id": task.id }, ["delivery > task > stage build"]);
      expect(await server.end("SIGTERM")).toBe(0);
      collector.stop();
    },
  );
});
