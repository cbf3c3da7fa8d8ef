import { describe, expect, test } from "bun:test";
import pino from "pino";
import type { Project } from "../../src/model/project.ts";
import type { Task } from "../../src/model/task.ts";
import { commitStatusCall } from "../../src/task/commit-status.ts";
import { ForbiddenAddress, postGuarded } from "../../src/task/guarded-request.ts";
import { isInternalAddress } from "../../src/task/internal-address.ts";
import { webhookHeaders } from "../../src/task/notifier.ts";
import { buildOutbox, type OutgoingCall } from "../../src/task/outbox.ts";
import { eventually } from "../support/eventually.ts";
import { sampleProject, sampleTask, sampleTime } from "../support/samples.ts";

describe("addresses inside", () => {
  const inside = [
    "127.0.0.1",
    "10.1.2.3",
    "172.31.255.255",
    "192.168.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "::1",
    "::",
    "fe80::1%eth0",
    "fd00::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "64:ff9b::7f00:1",
    "not an address",
  ];
  test.each(inside)("%s is inside", (address) => expect(isInternalAddress(address)).toBe(true));
  const outside = ["1.1.1.1", "172.32.0.1", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"];
  test.each(outside)("%s is not", (address) => expect(isInternalAddress(address)).toBe(false));
});

describe("an outgoing call", () => {
  const options = { allowInternal: false, timeoutMs: 2000 };
  const request = (url: string) => ({ url, headers: {}, body: "{}" });

  test("to an internal address is not made, by number or by name", async () => {
    const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("reached") });
    for (const host of ["127.0.0.1", "localhost", "[::1]", "0x7f000001", "2130706433"])
      await expect(postGuarded(request(`http://${host}:${server.port}/`), options)).rejects.toBeInstanceOf(
        ForbiddenAddress,
      );
    await expect(postGuarded(request("file:///etc/passwd"), options)).rejects.toBeInstanceOf(
      ForbiddenAddress,
    );
    expect(await postGuarded(request(server.url.href), { ...options, allowInternal: true })).toBe(200);
    server.stop(true);
  });

  test("does not follow a redirect", async () => {
    let followed = false;
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch(incoming) {
        followed ||= new URL(incoming.url).pathname === "/inside";
        return Response.redirect("/inside", 307);
      },
    });
    expect(await postGuarded(request(server.url.href), { ...options, allowInternal: true })).toBe(307);
    expect(followed).toBe(false);
    server.stop(true);
  });

  test("is signed as Standard Webhooks signs", () => {
    // The example of the specification.
    const headers = webhookHeaders(
      "msg_p5jXN8AQM9LWM0D4loKWxJek",
      1614265330,
      '{"test": 2432232314}',
      "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    );
    expect(headers["webhook-signature"]).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  });
});

describe("calls that wait to be made", () => {
  const log = pino({ level: "silent" });
  const call = (more: Partial<OutgoingCall> = {}): OutgoingCall => ({
    kind: "notification",
    subject: null,
    url: "https://hooks.example/",
    headers: {},
    body: "{}",
    ...more,
  });

  function outboxWith(answers: (number | Error)[], retryAfterMs = [1, 1, 1]) {
    const posted: string[] = [];
    const results: string[] = [];
    const outbox = buildOutbox({
      log,
      retryAfterMs,
      counted: (_kind, result) => results.push(result),
      async post({ body }) {
        posted.push(body);
        const answer = answers.shift() ?? 200;
        if (answer instanceof Error) throw answer;
        return answer;
      },
    });
    return { outbox, posted, results };
  }

  test("are tried again until they are taken", async () => {
    const { outbox, posted, results } = outboxWith([503, new Error("connection refused"), 200]);
    outbox.send(call());
    await eventually("it was taken", () => results.length === 1);
    expect(results).toEqual(["delivered"]);
    expect(posted).toHaveLength(3);
  });

  test("are given up when they were refused for good, or too often", async () => {
    for (const answers of [[410], [new ForbiddenAddress("inside")], [500, 500, 500, 500]]) {
      const tries = answers.length;
      const { outbox, posted, results } = outboxWith(answers);
      outbox.send(call());
      await eventually("it was given up", () => results.length === 1);
      expect(results).toEqual(["failed"]);
      expect(posted).toHaveLength(tries);
    }
  });

  test("to one address are begun in their order", async () => {
    const begun: string[] = [];
    const results: string[] = [];
    const outbox = buildOutbox({
      log,
      retryAfterMs: [1],
      counted: (_kind, result) => results.push(result),
      async post({ body }) {
        begun.push(body);
        await Bun.sleep(body === "first" ? 20 : 0);
        return body === "first" ? 503 : 200;
      },
    });
    for (const body of ["first", "second", "third"]) outbox.send(call({ body }));
    await eventually("all were taken or given up", () => results.length === 3);
    expect(begun.slice(0, 2)).toEqual(["first", "second"]);
    expect(begun.indexOf("third")).toBeGreaterThan(begun.indexOf("second"));
  });

  test("give way to a newer one of the same subject", async () => {
    const { outbox, posted, results } = outboxWith([503, 200], [50]);
    outbox.send(call({ subject: "commit a", body: "pending" }));
    await eventually("the first was tried", () => posted.length === 1);
    outbox.send(call({ subject: "commit a", body: "success" }));
    await outbox.close(1000);
    expect(posted).toEqual(["pending", "success"]);
    expect(results).toEqual(["delivered"]);
  });

  test("get their last try at the end of the server", async () => {
    const { outbox, posted, results } = outboxWith([503, 200], [60_000]);
    outbox.send(call());
    await eventually("it was tried", () => posted.length === 1);
    await outbox.close(5000);
    expect(results).toEqual(["delivered"]);
  });
});

describe("a commit status", () => {
  const task: Task = {
    ...sampleTask({ commit: "a".repeat(40) }),
    id: 7,
    state: "failed",
    reason: "build failed with exit code 1",
    supersededBy: null,
    attempt: 1,
    leaseHash: null,
    leaseUntil: null,
    runnerId: 1,
    startedAt: sampleTime,
    finishedAt: sampleTime,
  };
  const project = (url: string): Project => ({
    ...sampleProject({ git: { url, ref: "main", submodules: false } }),
    id: 1,
    liveTaskId: null,
  });
  const statusOf = (url: string, provider: "github" | "gitlab" | "gitea" | "generic") =>
    commitStatusCall(task, project(url), provider, "t0ken", "https://slipway.example/tasks/7");

  test("goes where each host wants it", () => {
    const sha = "a".repeat(40);
    expect(statusOf("https://github.com/ann/shop.git", "generic")).toMatchObject({
      url: `https://api.github.com/repos/ann/shop/statuses/${sha}`,
      headers: { authorization: "Bearer t0ken" },
      body: JSON.stringify({
        state: "failure",
        description: "build failed with exit code 1",
        target_url: "https://slipway.example/tasks/7",
        context: "slipway",
      }),
    });
    expect(statusOf("git@gitlab.example:group/sub/shop.git", "gitlab")).toMatchObject({
      url: `https://gitlab.example/api/v4/projects/group%2Fsub%2Fshop/statuses/${sha}`,
      headers: { "private-token": "t0ken" },
    });
    expect(statusOf("ssh://git@gitea.example:2222/ann/shop.git", "gitea")?.url).toBe(
      `https://gitea.example/api/v1/repos/ann/shop/statuses/${sha}`,
    );
    expect(statusOf("https://ghe.example/ann/shop", "github")?.url).toBe(
      `https://ghe.example/api/v3/repos/ann/shop/statuses/${sha}`,
    );
  });

  test("is not told to a host that has none, nor of no commit", () => {
    expect(statusOf("https://git.example/ann/shop.git", "generic")).toBeNull();
    expect(statusOf("/srv/git/shop.git", "github")).toBeNull();
  });
});
