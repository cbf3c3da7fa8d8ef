import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { adminPassword } from "../support/api-server.ts";
import { freshPrefix } from "../support/buses.ts";
import { type Certificate, makeCertificate } from "../support/certificate.ts";
import { environmentOf, readCompose } from "../support/compose.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { serveGit } from "../support/git-http-server.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { buildImages, images, restrictedAs, sizeOf } from "../support/images.ts";
import { longTest } from "../support/long-test.ts";
import { walkAsNewcomer } from "../support/newcomer-walk.ts";
import { PushClient } from "../support/push-client.ts";
import { outputOf, releaseFolder } from "../support/release-folder.ts";
import { type ServerProcess, startServerProcess } from "../support/server-process.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startVerifyService } from "../support/verify-service.ts";

const podman = await serviceUrl("podman");
const queueUrl = await serviceUrl("amqp");
const engineArguments = (podman ?? "").split(",");
/** Packages are downloaded, and images of some hundred megabytes written. */
const builtWithinMs = longTest(900_000);
const data = "/var/lib/slipway";

/** Runs podman; what fails is part of the answer. */
async function inPodman(...args: string[]): Promise<{ exitCode: number; text: string }> {
  const child = Bun.spawn(["podman", ...args], { stdout: "pipe", stderr: "pipe" });
  const texts = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { exitCode: await child.exited, text: texts.join("") };
}

const runCommand = ["run", "--rm", ...engineArguments];

/** What docs/operations.md names for containers whose scripts have sandboxes; podman has another name for the third. */
const namespaces = ["seccomp=unconfined", "apparmor=unconfined", "unmask=ALL"].map(
  (option) => `--security-opt=${option}`,
);

describe.skipIf(!podman)("the images of deploy/Dockerfile", () => {
  let removeImages = async () => {};
  beforeAll(async () => {
    removeImages = await buildImages(releaseFolder(), engineArguments);
  }, builtWithinMs);
  afterAll(() => removeImages(), builtWithinMs);

  test("the server's has at most 200 MB, both run as a user, and the server's checks its health", async () => {
    expect(await sizeOf(images.server)).toBeLessThanOrEqual(200_000_000);
    const settingOf = (image: string, name: string) =>
      outputOf(["podman", "image", "inspect", "--format", `{{json .${name}}}`, image]);
    for (const image of Object.values(images)) {
      expect((await settingOf(image, "Config.User")).trim()).toBe('"999:999"');
      expect(JSON.parse(await settingOf(image, "Config.Entrypoint"))).toEqual(["slipway"]);
      // Not the data folder, which scripts may write.
      expect(JSON.parse(await settingOf(image, "Config.WorkingDir"))).toBe("/");
    }
    expect(JSON.parse(await settingOf(images.server, "HealthCheck"))).toMatchObject({
      Test: ["CMD", "slipway", "health"],
    });
  });

  test("git of the server's reaches hosts by ssh and https, and trusts only known authorities", async () => {
    const git = serveGit(temporaryFolder("git"), null, undefined, await makeCertificate());
    const lsRemote = async (url: string) => {
      const options = ["--network=host", "--entrypoint=git", images.server, "ls-remote"];
      return (await inPodman(...runCommand, ...options, url)).text;
    };
    expect(await lsRemote("ssh://git@127.0.0.1:9/shop.git")).toContain("Connection refused");
    expect(await lsRemote(`${git.url.replace("127.0.0.1", "localhost")}/shop.git`)).toContain(
      "verification failed",
    );
    await git.stop();
  });

  test("health exits with 3 where no server is alive", async () => {
    const { exitCode, text } = await inPodman(...runCommand, images.server, "health");
    expect([exitCode, text]).toEqual([
      3,
      expect.stringContaining("No server is alive at http://127.0.0.1:8080."),
    ]);
  });

  test("the steps of README.md work in the container of compose.yaml", async () => {
    const url = `http://127.0.0.1:${freePort()}`;
    const { services } = await readCompose("compose.yaml");
    const settings = {
      ...environmentOf(services.slipway, { BASE_URL: url }),
      SLIPWAY_SERVER_LISTEN: url.slice(7),
    };
    const name = `slipway-test-${process.pid}-one`;
    const options = [...(await restrictedAs("compose.yaml", "slipway")), "--network=host", `--name=${name}`];
    const variables = Object.entries(settings).map(([key, value]) => `--env=${key}=${value}`);
    const volume = `--volume=${name}:${data}`;
    await walkAsNewcomer({
      server: ["podman", ...runCommand, ...options, ...variables, volume, images.runner, "start"],
      command: ["podman", "exec", "-i", `--env=SLIPWAY_URL=${url}`, name, "slipway"],
      url,
      env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "" },
    });
    await outputOf(["podman", "volume", "rm", name]);
  });

  test.skipIf(!queueUrl)("the server's is a gateway with the settings of compose-push.yaml", async () => {
    const url = `http://127.0.0.1:${freePort()}`;
    const verify = startVerifyService();
    const { services } = await readCompose("compose-push.yaml");
    const settings = {
      ...environmentOf(services["push-1"], {
        QUEUE_URL: queueUrl ?? "",
        VERIFY_URI: verify.url,
        PUSH_API_KEY: "the key of this test",
        DEPLOY_KEY: "another key",
        ALLOWED_ORIGINS: "*",
      }),
      SLIPWAY_SERVER_LISTEN: url.slice(7),
      SLIPWAY_PUSH_QUEUE_PREFIX: freshPrefix(),
      SLIPWAY_PUSH_DRAIN_DELAY: "0s",
    };
    const variables = Object.entries(settings).map(([key, value]) => `--env=${key}=${value}`);
    const restricted = await restrictedAs("compose-push.yaml", "push-1");
    const gateway = Bun.spawn(
      ["podman", ...runCommand, "--network=host", ...restricted, ...variables, images.server, "push"],
      { stdout: "ignore", stderr: "inherit" },
    );
    const isReady = async () => (await fetch(`${url}/readyz`)).ok;
    await eventually("the gateway is ready", () => isReady().catch(() => false));
    const client = await PushClient.open(`${url.replace("http", "ws")}/ws?code=anna`);
    const published = await fetch(`${url}/feign/publish`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer the key of this test" },
      body: JSON.stringify({ targetType: "user", target: "anna", data: "to anna" }),
    });
    expect(published.status).toBe(200);
    expect(await client.received(1)).toEqual(["to anna"]);
    client.close();
    gateway.kill("SIGTERM");
    expect(await gateway.exited).toBe(0);
    await verify.stop();
  });

  describe("a server and a runner with a read-only root", () => {
    const name = `slipway-test-${process.pid}`;
    let certificate: Certificate;
    let repository: GitRepository;
    let git: ReturnType<typeof serveGit>;
    let server: ServerProcess;
    let runner: Bun.Subprocess | undefined;

    /** `podman run` with what a service of the compose file is denied. */
    async function commandOf(service: string, image: string, more: string[]): Promise<string[]> {
      const authority = join(temporaryFolder("authority"), "certificates.pem");
      writeFileSync(authority, certificate.certificate);
      chmodSync(dirname(authority), 0o755);
      return ["podman", ...runCommand, "--network=host", `--name=${name}-${service}`].concat(
        await restrictedAs("compose-cluster.yaml", service),
        [`--volume=${authority}:/etc/ssl/certs/ca-certificates.crt:ro`, ...more, image],
      );
    }

    beforeAll(async () => {
      certificate = await makeCertificate();
      repository = await makeRepository();
      await repository.push({ "app.txt": "one\n" });
      git = serveGit(dirname(repository.url), null, undefined, certificate);
      const listen = `127.0.0.1:${freePort()}`;
      const environment = { SLIPWAY_SERVER_LISTEN: listen, SLIPWAY_ADMIN_PASSWORD: adminPassword };
      const more = Object.entries(environment).map(([key, value]) => `--env=${key}=${value}`);
      const command = await commandOf("deploy", images.server, more);
      const settings = { "server-listen": listen, "webhook-reconcile-minutes": "0.015" };
      server = await startServerProcess(data, settings, [], {}, command);
    });
    afterAll(async () => {
      runner?.kill("SIGTERM");
      await runner?.exited;
      await server?.end("SIGTERM");
      await git?.stop();
    });
    const inside = (service: string, ...command: string[]) =>
      inPodman("exec", `${name}-${service}`, ...command);

    test("the server is healthy, and writes nowhere but to its data and /tmp", async () => {
      expect(await inPodman("healthcheck", "run", `${name}-deploy`)).toMatchObject({ exitCode: 0 });
      for (const file of ["/file", "/etc/file", "/usr/bin/file"])
        expect((await inside("deploy", "sh", "-c", `: > ${file}`)).text).toMatch(/Read-only file system/);
      for (const file of [`${data}/file`, "/tmp/file"])
        expect((await inside("deploy", "sh", "-c", `: > ${file}`)).exitCode).toBe(0);
    });

    test("it polls a repository over https, and the runner runs the task", async () => {
      const { token } = await server.admin.expect<{ token: string }>(201, "POST", "/api/runners", {
        name: "container",
      });
      const environment = { SLIPWAY_RUNNER_SERVER: server.url, SLIPWAY_RUNNER_TOKEN: token };
      const more = Object.entries(environment).map(([key, value]) => `--env=${key}=${value}`);
      const local = ["--env=SLIPWAY_TASKS_ALLOW_LOCAL_REPOSITORIES=true", ...more];
      runner = Bun.spawn([...(await commandOf("runner", images.runner, local))], {
        stdout: "ignore",
        stderr: "inherit",
      });
      const url = `${git.url.replace("127.0.0.1", "localhost")}/${basename(repository.url)}`;
      const script = "bash -c 'jq --version && ssh -V && git lfs version' && cat app.txt";
      const project = await server.project(url, { build: script });
      const hook = `/api/projects/${project}/webhook`;
      await server.admin.expect(200, "PUT", hook, { enabled: true, provider: "gitea", debounceSeconds: 0 });
      await eventually("the repository was polled", async () => {
        const { poll } = await server.admin.expect<{ poll: { lastAt: string | null; error: string } }>(
          200,
          "GET",
          hook,
        );
        expect(poll.error).toBe("");
        return poll.lastAt !== null;
      });
      const commit = await repository.push({ "app.txt": "found by a poll\n" });
      let taskId = 0;
      await eventually("the poll found the push", async () => {
        const { items } = await server.admin.expect<{ items: { commit: string; task_id: number }[] }>(
          200,
          "GET",
          "/api/webhooks/deliveries",
        );
        taskId = items.find((delivery) => delivery.commit === commit)?.task_id ?? 0;
        return taskId !== 0;
      });
      await server.reach(taskId, "success");
      await server.logged(taskId, "found by a poll");
    });

    test("the runner says why its scripts have no sandbox, and has one in a container that may create namespaces", async () => {
      const { id, token } = await server.admin.expect<{ id: number; token: string }>(
        201,
        "POST",
        "/api/runners",
        { name: "sandboxed", labels: ["sandboxed"], trustedIsolation: "sandbox" },
      );
      const { items } = await server.admin.expect<{ items: { name: string }[] }>(200, "GET", "/api/runners");
      expect(items.find((each) => each.name === "container")).toMatchObject({
        isolation: "none",
        isolationNote: expect.stringContaining("--security-opt systempaths=unconfined"),
      });
      const environment = { SLIPWAY_RUNNER_SERVER: server.url, SLIPWAY_RUNNER_TOKEN: token };
      const variables = Object.entries(environment).map(([key, value]) => `--env=${key}=${value}`);
      const command = await commandOf("runner", images.runner, [...variables, ...namespaces]);
      const isName = (each: string) => each.startsWith("--name=");
      const sandboxed = Bun.spawn(
        command.map((each) => (isName(each) ? `--name=${name}-sandboxed` : each)),
        { stdout: "ignore", stderr: "inherit" },
      );
      const url = `${git.url.replace("127.0.0.1", "localhost")}/${basename(repository.url)}`;
      const more = { labels: ["sandboxed"], isolation: "sandbox" };
      const project = await server.project(url, { build: "ls /proc | grep -c '^[0-9]'" }, more);
      await server.reach((await server.run(project)).id, "success");
      expect(await server.admin.expect(200, "GET", `/api/runners/${id}`)).toMatchObject({
        isolation: "sandbox",
        isolationNote: "",
      });
      sandboxed.kill("SIGTERM");
      expect(await sandboxed.exited).toBe(0);
    });

    test("its database is backed up while it runs", async () => {
      const { exitCode, text } = await inside("deploy", "slipway", "backup", `${data}/backup`);
      expect([exitCode, text]).toEqual([0, expect.stringMatching(/^Backed up \d+ rows/)]);
    });

    test("both end when they are asked to", async () => {
      runner?.kill("SIGTERM");
      expect(await runner?.exited).toBe(0);
      expect(await server.end("SIGTERM")).toBe(0);
    });
  });
});
