import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { manualClock } from "../../src/clock.ts";
import { isInternalAddress } from "../../src/internal-address.ts";
import type { Project } from "../../src/model/project.ts";
import { sealedPurpose } from "../../src/model/sealed.ts";
import type { Task } from "../../src/model/task.ts";
import { buildSecrets } from "../../src/secrets.ts";
import { webhookHeaders } from "../../src/standard-webhooks.ts";
import { commitStatusCall } from "../../src/task/notify/commit-status.ts";
import { ForbiddenAddress, sendGuarded } from "../../src/task/notify/guarded-request.ts";
import {
  buildOutgoingRequests,
  type OutgoingRequestParts,
  type Sendable,
} from "../../src/task/notify/outgoing-request.ts";
import { failureOf } from "../support/failure.ts";
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
    "64:ff9b:1::a00:1",
    "::127.0.0.1",
    "::7f00:1",
    "2002:7f00:1::",
    "2002:c0a8:1::1",
    "2001:0:7f00:1::",
    "fec0::1",
    "not an address",
  ];
  test.each(inside)("%s is inside", (address) => expect(isInternalAddress(address)).toBe(true));
  const outside = [
    "1.1.1.1",
    "172.32.0.1",
    "8.8.8.8",
    "2606:4700::1111",
    "2001:4860:4860::8888",
    "::ffff:8.8.8.8",
  ];
  test.each(outside)("%s is not", (address) => expect(isInternalAddress(address)).toBe(false));
});

describe("an outgoing call", () => {
  const options = { allowInternal: false, timeoutMs: 2000 };
  const request = (url: string) => ({ url, headers: {}, body: "{}" });

  test("to an internal address is not made, by number or by name", async () => {
    const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("reached") });
    for (const host of ["127.0.0.1", "localhost", "[::1]", "0x7f000001", "2130706433"])
      await expect(sendGuarded(request(`http://${host}:${server.port}/`), options)).rejects.toBeInstanceOf(
        ForbiddenAddress,
      );
    await expect(sendGuarded(request("file:///etc/passwd"), options)).rejects.toBeInstanceOf(
      ForbiddenAddress,
    );
    expect(await sendGuarded(request(server.url.href), { ...options, allowInternal: true })).toMatchObject({
      status: 200,
      body: "reached",
    });
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
    expect(await sendGuarded(request(server.url.href), { ...options, allowInternal: true })).toMatchObject({
      status: 307,
    });
    expect(followed).toBe(false);
    server.stop(true);
  });

  test("is not signed with an empty key because its key only looks like base64", () => {
    const signatureBy = (key: string | Uint8Array) =>
      createHmac("sha256", key).update("msg_1.1614265330.{}").digest("base64");
    for (const key of ["whsec_!!!", "whsec_=", "whsec_", "whsec_ ", "whsec_A", "whsec_€€€"]) {
      const headers = webhookHeaders("msg_1", 1_614_265_330, "{}", key);
      expect(headers["webhook-signature"]).toBe(`v1,${signatureBy(key)}`);
    }
    const encoded = webhookHeaders("msg_1", 1_614_265_330, "{}", "whsec_c2VjcmV0");
    expect(encoded["webhook-signature"]).toBe(`v1,${signatureBy("secret")}`);
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

describe("the proof that a call is ours", () => {
  const secrets = buildSecrets(new Uint8Array(32));
  const clock = manualClock();
  const stored = (values: Record<string, string>) =>
    Object.entries(values).map(([name, value]) => ({
      name,
      ciphertext: secrets.seal(sealedPurpose.projectSecret(7, name), value),
      scope: null,
      as: "variable" as const,
    }));
  const project = {
    ...sampleProject({ git: { url: "https://github.com/a/b.git", ref: "main", submodules: false } }),
  };
  const byId = async () => ({
    ...project,
    id: 7,
    disk: null,
    liveTaskId: null,
    liveNote: "",
    homeRunnerId: null,
  });
  const call = {
    projectId: 7,
    url: "https://api.github.com/repos/a/b",
    targetId: null,
    subject: null,
    messageId: "msg_1",
    body: "{}",
  };
  const notification = { ...call, targetId: "abc", proof: "signature" } as const;
  const target = { ":notify-target abc": JSON.stringify({ url: "https://hooks.example/x", secret: null }) };
  const headersBy = (projects: OutgoingRequestParts["projects"]) => {
    const meta = { get: async () => null };
    const prepare = buildOutgoingRequests({ projects, meta, secrets, clock, trusted: [] });
    return async (call: Sendable) => (await prepare(call)).request.headers;
  };

  test("is made anew for each try: a receiver refuses an old time, and a key may have been replaced", async () => {
    let values: Record<string, string> = { ...target, ":notify": "first key" };
    const headersOf = headersBy({ byId, secrets: async () => stored(values) });
    const first = await headersOf(notification);
    clock.advance(600_000);
    values = { ...target, ":notify": "second key" };
    const second = await headersOf(notification);
    expect(second["webhook-id"]).toBe(first["webhook-id"] ?? "");
    expect(Number(second["webhook-timestamp"]) - Number(first["webhook-timestamp"])).toBe(600);
    expect(second).toMatchObject(webhookHeaders("msg_1", Math.floor(clock.now() / 1000), "{}", "second key"));
  });

  test("is the token of the project, and a notification without a key has none", async () => {
    const headersOf = headersBy({ byId, secrets: async () => stored({ ...target, ":status": "t0ken" }) });
    expect(await headersOf({ ...call, proof: "bearer" })).toMatchObject({ authorization: "Bearer t0ken" });
    expect(await headersOf(notification)).not.toHaveProperty("webhook-signature");
  });

  test("is not sent to a target that was removed", async () => {
    const headersOf = headersBy({ byId, secrets: async () => [] });
    expect(String(await failureOf(headersOf(notification)))).toContain("was removed");
  });

  test.each([
    "https://evil.example.com/repos/a/b",
    "http://api.github.com/repos/a/b",
    "https://api.github.com:8443/repos/a/b",
    "https://api.github.com.evil.example.com/repos/a/b",
  ])("is not sent to %s, which is not the server of the repository", async (url) => {
    const headersOf = headersBy({ byId, secrets: async () => stored({ ":status": "t0ken" }) });
    expect(String(await failureOf(headersOf({ ...call, url, proof: "bearer" })))).toContain("another server");
    const without = headersBy({ byId, secrets: async () => [] });
    expect(String(await failureOf(without({ ...call, proof: "bearer" })))).toContain("no status token");
  });
});

describe("a commit status", () => {
  const task: Task = {
    ...sampleTask({ commit: "a".repeat(40) }),
    id: 7,
    state: "failed",
    reason: "build failed with exit code 1",
    supersededBy: null,
    approval: null,
    rollback: null,
    attempt: 1,
    leaseHash: null,
    leaseUntil: null,
    runnerId: 1,
    startedAt: sampleTime,
    fetchingSince: null,
    deployingSince: null,
    serviceAction: null,
    deploys: null,
    move: null,
    targetRunnerId: null,
    pipeline: null,
    finishedAt: sampleTime,
  };
  const project = (url: string): Project => ({
    ...sampleProject({ git: { url, ref: "main", submodules: false } }),
    id: 1,
    disk: null,
    liveTaskId: null,
    liveNote: "",
    homeRunnerId: null,
  });
  const statusOf = (url: string, provider: "github" | "gitlab" | "gitea" | "generic") =>
    commitStatusCall(task, project(url), provider, "https://slipway.example/tasks/7");

  test.each(["../archive?x=", "a/b", "", "abc"])("is not sent for the commit %j", (commit) => {
    const call = commitStatusCall(
      { ...task, commit },
      project("https://github.com/ann/shop.git"),
      "github",
      "https://slipway.example/tasks/7",
    );
    expect(call).toBeNull();
  });

  test.each([
    "git@github.com:../../user",
    "https://github.com/%2e%2e/%2e%2e/user/keys",
    "ssh://github.com/%zz/..",
  ])("is not sent to another place than the repository %s", (url) =>
    expect(statusOf(url, "github")?.url ?? "").not.toContain(".."),
  );

  test("of a repository that is cloned over ssh goes to https", () => {
    expect(statusOf("ssh://git@gitea.example:2222/ann/shop.git", "gitea")?.url).toBe(
      `https://gitea.example/api/v1/repos/ann/shop/statuses/${"a".repeat(40)}`,
    );
  });

  test("is not told to a host that has none, nor of no commit", () => {
    expect(statusOf("https://git.example/ann/shop.git", "generic")).toBeNull();
    expect(statusOf("/srv/git/shop.git", "github")).toBeNull();
  });
});
