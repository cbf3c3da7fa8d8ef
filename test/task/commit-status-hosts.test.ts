import { describe, expect, test } from "bun:test";
import { manualClock } from "../../src/clock.ts";
import type { ProviderName } from "../../src/git-host/hosts.ts";
import type { Project } from "../../src/model/project.ts";
import { sealedPurpose } from "../../src/model/sealed.ts";
import type { TaskState } from "../../src/model/task.ts";
import { buildSecrets } from "../../src/secrets.ts";
import { commitStatusCall, skippedStatusCall } from "../../src/task/notify/commit-status.ts";
import { sendGuarded } from "../../src/task/notify/guarded-request.ts";
import { attemptCall } from "../../src/task/notify/outgoing-attempt.ts";
import { buildOutgoingRequests } from "../../src/task/notify/outgoing-request.ts";
import { sampleProject } from "../support/samples.ts";
import { startStatusService, type statusServices } from "../support/status-services.ts";

const [commit, other, third] = ["a".repeat(40), "b".repeat(40), "c".repeat(40)];
const page = "https://slipway.example/tasks/7";

/** What each host shows for: queued, running, success, failed, canceled, replaced by a later push. */
const hosts: [keyof typeof statusServices, ProviderName, string[]][] = [
  ["github", "generic", ["pending", "pending", "success", "failure", "error", "success"]],
  ["github enterprise", "github", ["pending", "pending", "success", "failure", "error", "success"]],
  ["gitea", "gitea", ["pending", "pending", "success", "failure", "error", "success"]],
  ["gitlab", "gitlab", ["pending", "running", "success", "failed", "canceled", "canceled"]],
  [
    "gitee",
    "gitee",
    [
      "queued",
      "in_progress",
      "completed success",
      "completed failure",
      "completed cancelled",
      "completed neutral",
    ],
  ],
  ["codeup", "generic", ["pending", "pending", "success", "failure", "error", "success"]],
  ["codeup region", "codeup", ["pending", "pending", "success", "failure", "error", "success"]],
  ["bitbucket", "generic", ["INPROGRESS", "INPROGRESS", "SUCCESSFUL", "FAILED", "STOPPED", "SUCCESSFUL"]],
  [
    "bitbucket data center",
    "bitbucket",
    ["INPROGRESS", "INPROGRESS", "SUCCESSFUL", "FAILED", "CANCELLED", "SUCCESSFUL"],
  ],
];
const states: (TaskState | "replaced")[] = ["queued", "running", "success", "failed", "canceled", "replaced"];

describe.each(hosts)("the commit status API of %s", (name, provider, expected) => {
  const secrets = buildSecrets(new Uint8Array(32));

  function scene(context = "slipway/shop", token?: string) {
    const service = startStatusService(name);
    const project: Project = {
      ...sampleProject({ git: { url: service.cloneUrl, ref: "main", submodules: false } }),
      commitStatus: { context, skipped: true },
      id: 1,
      disk: null,
      liveTaskId: null,
      liveNote: "",
      homeRunnerId: null,
    };
    const ciphertext = secrets.seal(sealedPurpose.projectSecret(1, ":status"), token ?? service.token);
    const prepare = buildOutgoingRequests({
      projects: {
        byId: async () => project,
        secrets: async () => [{ name: ":status", ciphertext, scope: null, as: "variable" }],
      },
      meta: { get: async () => null },
      secrets,
      clock: manualClock(),
      trusted: [],
    });
    const send = (request: Parameters<typeof sendGuarded>[0]) =>
      sendGuarded({ ...request, url: service.here(request.url) }, { allowInternal: true, timeoutMs: 5000 });
    const call = (made: ReturnType<typeof commitStatusCall>) => {
      if (made === null) throw new Error("there is no call");
      return attemptCall(made, { prepare, send });
    };
    return {
      service,
      report: (state: TaskState | "replaced", of = commit) =>
        call(
          commitStatusCall({ id: 7, commit: of, reason: "x".repeat(300), state }, project, provider, page),
        ),
      skip: (of: string) =>
        call(skippedStatusCall({ commit: of, reason: "the branch is not listed" }, project, provider, page)),
    };
  }

  test("takes every state of a task, and a replaced commit is no error", async () => {
    const { service, report } = scene();
    const shown: string[] = [];
    for (const state of states) {
      expect(await report(state)).toMatchObject({ isDelivered: true, fault: "" });
      shown.push(service.held.at(-1)?.state ?? "");
    }
    expect(service.refused).toEqual([]);
    expect(shown).toEqual(expected);
    expect(service.held.at(-1)).toMatchObject({ commit, context: "slipway/shop", link: page });
    // Gitee has one check run whose state changes.
    if (name === "gitee") expect(service.held).toHaveLength(1);
    service.stop();
  });

  test("shows a skipped push only where the commit has no status of the context", async () => {
    const { service, report, skip } = scene();
    expect(await skip(commit)).toMatchObject({ isDelivered: true });
    expect(service.held).toHaveLength(1);
    expect(service.held[0]?.description).toBe("Skipped: the branch is not listed");
    expect(service.held[0]?.state).toMatch(/^(success|skipped|completed skipped|SUCCESSFUL)$/);
    await report("failed", other);
    const failed = structuredClone(service.held);
    expect(await skip(other)).toMatchObject({
      isDelivered: true,
      response: expect.stringContaining("already"),
    });
    expect(service.held).toEqual(failed);
    // A status of another context does not count.
    service.held.push({ commit: third, context: "ci/other", state: "success", description: "", link: "" });
    expect(await skip(third)).toMatchObject({ isDelivered: true });
    expect(service.held.at(-1)).toMatchObject({ commit: third, context: "slipway/shop" });
    expect(service.refused).toEqual([]);
    service.stop();
  });

  test("keeps long contexts apart, and a wrong token is a failed attempt that does not show it", async () => {
    const long = `slipway/${"shop ".repeat(20)}`;
    for (const end of ["one", "two"]) {
      const { service, report } = scene(`${long}${end}`);
      expect(await report("success")).toMatchObject({ isDelivered: true });
      const [context = ""] = service.held.map((status) => status.context);
      expect(context).toStartWith("slipway/shop");
      if (context.length < 100) expect(context).toMatch(/-[0-9a-f]{8}$/);
      service.stop();
    }
    const { service, report, skip } = scene("slipway", "wrong-token");
    expect(await report("success")).toMatchObject({ isDelivered: false, status: 401, isFinal: true });
    expect(await skip(commit)).toMatchObject({ isDelivered: false, status: 401 });
    expect(service.held).toEqual([]);
    expect(JSON.stringify(await report("success"))).not.toContain("wrong-token");
    service.stop();
  });
});
