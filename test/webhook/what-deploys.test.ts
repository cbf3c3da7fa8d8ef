import { describe, expect, test } from "bun:test";
import { setUpApi } from "../support/api-setup.ts";
import { deliveriesOf, deliveryOf, makeHook, sha, type TestHook, tasksOf } from "../support/hook.ts";

const server = await setUpApi({ "webhook.limitPerMinute": 10_000 });

const stages = { build: { script: "true" }, deploy: { script: "true" }, start: { script: "true" } };
const buildOnly = { build: true, deploy: false, start: false };
const every = { provider: "github", events: ["push", "tag", "merge_request"], debounceSeconds: 0 };
const hookOf = (config: object = {}) => makeHook(server, { ...every, ...config }, { stages });

const github = (event: string, payload: object) => ({ headers: { "x-github-event": event }, payload });
const push = (branch: string, commit: string, more: object = {}) =>
  github("push", { ref: `refs/heads/${branch}`, after: commit, sender: { login: "ann" }, ...more });
const create = (branch: string, more: object = {}) =>
  github("create", { ref: branch, ref_type: "branch", sender: { login: "ann" }, ...more });
const pull = (action: string, more: object = {}) =>
  github("pull_request", {
    action,
    number: 7,
    pull_request: {
      number: 7,
      title: "Sell pears",
      merged: action === "closed",
      merge_commit_sha: sha("merge"),
      head: { ref: "pears", sha: sha("pears"), repo: { full_name: "acme/shop" } },
      base: { ref: "main", repo: { full_name: "acme/shop" } },
      ...more,
    },
  });

const runs = (tasks: Record<string, unknown>[]) =>
  tasks.map(({ ref, stages }) => [
    String(ref),
    (stages as { name: string; state: string }[])
      .filter(({ state }) => state !== "skipped")
      .map(({ name }) => name)
      .join(" "),
  ]);

describe("merge requests", () => {
  test("run `actions` while mergeRequestActions is not set, as before", async () => {
    const hook = await hookOf();
    await hook.deliver(pull("opened"));
    expect(runs(await tasksOf(server.admin, hook.projectId))).toEqual([
      ["refs/heads/pears", "build deploy start"],
    ]);
  });

  test("build only with mergeRequestActions: nothing deploys, and a push still does", async () => {
    const hook = await hookOf({ mergeRequestActions: buildOnly });
    await hook.deliver(pull("opened"));
    await hook.deliver(push("main", sha("one")));
    expect(runs(await tasksOf(server.admin, hook.projectId))).toEqual([
      ["refs/heads/main", "build deploy start"],
      ["refs/heads/pears", "build"],
    ]);
  });

  test("that are built only do not take the place of a deploy inside the debounce window", async () => {
    const hook = await hookOf({ mergeRequestActions: buildOnly, debounceSeconds: 60 });
    await hook.deliver(push("main", sha("one")));
    await hook.deliver(pull("opened"));
    expect(runs(await tasksOf(server.admin, hook.projectId))).toEqual([
      ["refs/heads/pears", "build"],
      ["refs/heads/main", "build deploy start"],
    ]);
  });

  test("between two pushes of a debounce window do not end it: the waiting deploy takes over the second push", async () => {
    for (const debounceScope of ["project", "ref"]) {
      const hook = await hookOf({ mergeRequestActions: buildOnly, debounceSeconds: 60, debounceScope });
      await hook.deliver(push("pears", sha("one")));
      await hook.deliver(pull("synchronize"));
      const { body } = await hook.deliver(push("pears", sha("two")));
      expect(body).toMatchObject({ status: "merged", code: "debounced" });
      const tasks = await tasksOf(server.admin, hook.projectId);
      expect(tasks.map(({ commit }) => commit)).toEqual([sha("pears"), sha("two")]);
    }
  });

  test("a replay of a merge request that is only built deploys nothing either", async () => {
    const hook = await hookOf({ mergeRequestActions: buildOnly });
    const { body } = await hook.deliver(pull("opened"));
    await server.admin.expect(202, "POST", `/api/webhooks/deliveries/${body.deliveryId}/replay`);
    expect(runs(await tasksOf(server.admin, hook.projectId))).toEqual([
      ["refs/heads/pears", "build"],
      ["refs/heads/pears", "build"],
    ]);
  });

  const deploysOf = async (hook: TestHook) =>
    runs(await tasksOf(server.admin, hook.projectId)).filter(([, names]) => names?.includes("deploy"));

  test.each([
    ["unset", null],
    ["build only", buildOnly],
  ])(
    "merging deploys once, in both orders of the two events (mergeRequestActions %s)",
    async (_, actions) => {
      for (const events of [
        [push("main", sha("merge")), pull("closed")],
        [pull("closed"), push("main", sha("merge"))],
      ]) {
        const hook = await hookOf({ mergeRequestActions: actions });
        for (const event of events) await hook.deliver(event);
        expect(await deploysOf(hook)).toEqual([["refs/heads/main", "build deploy start"]]);
        const [second] = await deliveriesOf(server.admin, hook.projectId);
        expect(second).toMatchObject({ status: "merged", code: "duplicate" });
      }
    },
  );

  test("a task knows the event, the number and the target", async () => {
    const hook = await hookOf();
    await hook.deliver(pull("opened"));
    expect(await tasksOf(server.admin, hook.projectId)).toMatchObject([
      { source: { event: "merge_request", mergeRequest: "7", targetBranch: "main", fromFork: false } },
    ]);
  });
});

describe("a `create` and a `push` of one ref", () => {
  const new1 = sha("new");

  test.each([
    ["push first", [push("new", new1), create("new")]],
    ["create first", [create("new"), push("new", new1)]],
    ["create with its commit first", [create("new", { sha: new1 }), push("new", new1)]],
  ])("make one deploy of the pushed commit without a debounce: %s", async (_, events) => {
    const hook = await hookOf();
    const answers = [];
    for (const event of events) answers.push(await hook.deliver(event));
    const tasks = await tasksOf(server.admin, hook.projectId);
    expect(tasks).toMatchObject([{ ref: "refs/heads/new", commit: new1 }]);
    expect(answers.map(({ body }) => body.code)).toEqual(["accepted", "duplicate"]);
    expect(answers[1]?.body).toMatchObject({ status: "merged", mergedIntoTaskId: tasks[0]?.id });
  });

  test("a push of the same commit again, or of another commit, is a deploy of its own", async () => {
    const hook = await hookOf();
    await hook.deliver(push("new", new1));
    await hook.deliver(push("new", new1));
    await hook.deliver(create("new", { sha: sha("other") }));
    expect((await tasksOf(server.admin, hook.projectId)).length).toBe(3);
  });
});

describe("`git push origin main other`", () => {
  test("with a window for each ref both are built, and each record is true", async () => {
    const hook = await hookOf({ debounceSeconds: 60, debounceScope: "ref" });
    await hook.deliver(push("main", sha("one")));
    await hook.deliver(push("other", sha("two")));
    expect(await deliveriesOf(server.admin, hook.projectId)).toMatchObject([
      { ref: "other", status: "accepted" },
      { ref: "main", status: "accepted", replaced_by: null },
    ]);
    expect((await tasksOf(server.admin, hook.projectId)).map(({ ref }) => ref)).toEqual([
      "refs/heads/other",
      "refs/heads/main",
    ]);
  });

  test("with one window for the project the record of main says what is built instead", async () => {
    const hook = await hookOf({ debounceSeconds: 60, debounceScope: "project" });
    await hook.deliver(push("main", sha("one")));
    const other = await hook.deliver(push("other", sha("two")));
    expect(await deliveriesOf(server.admin, hook.projectId)).toMatchObject([
      { ref: "other", status: "merged" },
      { ref: "main", replaced_by: other.body.deliveryId },
    ]);
  });
});

describe("the repository of a delivery", () => {
  const repository = (url: string) => ({ repository: { clone_url: url, full_name: "acme/shop" } });
  const other = repository("https://git.example.com/acme/other.git");

  test("that is another one is noted in the trace, and built (warn)", async () => {
    const hook = await hookOf();
    const { body } = await hook.deliver(push("main", sha("one"), other));
    expect(body.code).toBe("accepted");
    const { trace } = await deliveryOf(server.admin, body.deliveryId);
    expect(trace).toContainEqual(expect.objectContaining({ step: "repository", result: "unknown" }));
    const webhook = `/api/projects/${hook.projectId}/webhook`;
    const { warnings } = await server.admin.expect<{ warnings: string[] }>(200, "GET", webhook);
    expect(warnings.join("\n")).toContain("https://git.example.com/acme/other.git");
  });

  test("that is another one builds nothing (enforce), also in a replay", async () => {
    const hook = await hookOf();
    const first = await hook.deliver(push("main", sha("one"), other));
    await hook.save({ repositoryCheck: "enforce" });
    const { status, body } = await hook.deliver(push("main", sha("two"), other));
    expect([status, body.status, body.code]).toEqual([200, "ignored", "repository_mismatch"]);
    const replay = `/api/webhooks/deliveries/${first.body.deliveryId}/replay`;
    expect(await server.admin.expect(200, "POST", replay)).toMatchObject({ code: "repository_mismatch" });
    expect((await tasksOf(server.admin, hook.projectId)).length).toBe(1);
  });

  test("is compared with the project as it is now", async () => {
    const hook = await hookOf({ repositoryCheck: "enforce" });
    const same = repository("https://git.example.com/SHOP.git/");
    expect((await hook.deliver(push("main", sha("one"), same))).body.code).toBe("accepted");
    await server.admin.expect(200, "PATCH", `/api/projects/${hook.projectId}`, {
      git: { url: "https://git.example.com/acme/moved.git" },
    });
    expect((await hook.deliver(push("main", sha("two"), same))).body.code).toBe("repository_mismatch");
  });

  test.each([
    ["git@git.example.com:shop.git"],
    ["ssh://git@git.example.com:2222/shop.git"],
    ["https://git.example.com/shop"],
    ["http://127.0.0.1:3000/shop.git"],
  ])("that is written %s is the project's", async (url) => {
    const hook = await hookOf({ repositoryCheck: "enforce" });
    expect((await hook.deliver(push("main", sha(url), repository(url)))).body.code).toBe("accepted");
  });

  test("that is not named passes", async () => {
    const hook = await hookOf({ repositoryCheck: "enforce" });
    expect((await hook.deliver(push("main", sha("one")))).body.code).toBe("accepted");
  });
});

describe("the warnings of a webhook", () => {
  const warningsOf = async (config: object) => {
    const hook = await hookOf(config);
    const path = `/api/projects/${hook.projectId}/webhook`;
    return (await server.admin.expect<{ warnings: string[] }>(200, "GET", path)).warnings.join("\n");
  };

  test("name an empty branch filter, merge requests that deploy, a shared window and a missing secret", async () => {
    const text = await warningsOf({ debounceSeconds: 5 });
    expect(text).toContain("The branch filter is empty: a push of any branch is deployed. Set it to main");
    expect(text).toContain("Every merge request is deployed");
    expect(text).toContain("The debounce window covers the whole project");
    expect(text).toContain("without a secret");
  });

  test("are gone with the safe choices", async () => {
    const text = await warningsOf({
      secret: "long enough",
      branchFilter: ["main"],
      mergeRequestActions: buildOnly,
      debounceScope: "ref",
    });
    expect(text).not.toMatch(/branch filter|merge request|debounce|secret/);
  });

  test("name a host that sends both push and create", async () => {
    const hook = await hookOf();
    await hook.deliver(create("new"));
    await hook.deliver(push("new", sha("new")));
    const path = `/api/projects/${hook.projectId}/webhook`;
    const { warnings } = await server.admin.expect<{ warnings: string[] }>(200, "GET", path);
    expect(warnings.join("\n")).toContain("both push and create");
  });
});
