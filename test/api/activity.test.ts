import { afterAll, describe, expect, test } from "bun:test";
import type { ApiClient } from "../support/api-server.ts";
import { setUpProtocol } from "../support/api-setup.ts";
import { availableDatabases } from "../support/databases.ts";
import { deliverTo } from "../support/hook.ts";

interface Row {
  at: string;
  outcome: string;
  isBuilt: boolean;
  delivery: { id: number; reason: string; ref: string } | null;
  task: { id: number; state: string; projectName: string; isServing: boolean } | null;
}
interface List {
  items: Row[];
  next: string | null;
}

describe.each(await availableDatabases())("the list of activity on $name", async ({ make }) => {
  const database = await make();
  const scene = await setUpProtocol({ "database.url": database.url });
  afterAll(() => database.remove());
  const { server, client } = scene;
  const { admin } = server;
  const list = (query = "", as: ApiClient = admin) => as.expect<List>(200, "GET", `/api/activity${query}`);
  const shown = async (query?: string, as?: ApiClient) =>
    (await list(query, as)).items.map(({ outcome, delivery }) => `${delivery ? "push" : "task"} ${outcome}`);

  const shop = await client.project("https://git.example.com/shop.git", { build: "make" }, { name: "shop" });
  const { url } = await admin.expect<{ url: string }>(200, "PUT", `/api/projects/${shop}/webhook`, {
    enabled: true,
    provider: "gitlab",
    branchFilter: ["main"],
    debounceSeconds: 0,
  });
  const push = (branch: string, commit: string) =>
    deliverTo(url, {
      headers: { "x-gitlab-event": "Push Hook" },
      payload: {
        object_kind: "push",
        ref: `refs/heads/${branch}`,
        checkout_sha: commit.repeat(40),
        after: commit.repeat(40),
        project: { git_http_url: "https://git.example.com/shop.git" },
        commits: [{ id: commit.repeat(40), message: "Sell more", author: { name: "ann" } }],
      },
    });

  test("a push and its task are one row, as far as they got", async () => {
    expect((await push("main", "a")).body.status).toBe("accepted");
    const task = await scene.runner.claim();
    if (task === null) throw new Error("nothing to claim");
    expect(await shown()).toEqual(["push dispatched"]);
    await scene.finish(task, "failed", "the tests failed");
    expect((await push("docs", "b")).body.status).toBe("ignored");
    const again = await admin.expect<{ id: number }>(201, "POST", `/api/tasks/${task.taskId}/rerun`);
    const { items, next } = await list();
    expect(next).toBeNull();
    expect(items).toMatchObject([
      { outcome: "queued", delivery: null, isBuilt: true, task: { id: again.id, projectName: "shop" } },
      {
        outcome: "failed",
        isBuilt: true,
        delivery: { ref: "main" },
        task: { id: task.taskId, state: "failed", isServing: false },
      },
    ]);
    const stopped = await list("?show=stopped");
    expect(stopped.items).toMatchObject([{ outcome: "ignored", task: null, isBuilt: false }]);
    expect(stopped.items[0]?.delivery?.reason).toContain("docs");
  });

  test("pages go on where the one before ended", async () => {
    const whole = await list("?show=all");
    const seen: Row[] = [];
    let after = "";
    for (;;) {
      const page: List = await list(`?show=all&pageSize=1${after}`);
      seen.push(...page.items);
      if (page.next === null) break;
      after = `&after=${page.next}`;
    }
    expect(seen.map(({ at, outcome }) => [at, outcome])).toEqual(
      whole.items.map(({ at, outcome }) => [at, outcome]),
    );
    expect(seen).toHaveLength(3);
  });

  test("filters, and refuses what it does not know", async () => {
    expect(await shown("?outcome=ignored")).toEqual(["push ignored"]);
    expect(await shown("?search=bbbbbbb&show=all")).toEqual(["push ignored"]);
    expect(await shown("?search=main&trigger=webhook")).toEqual(["push failed"]);
    expect(await shown("?trigger=manual")).toEqual(["task queued"]);
    expect(await shown("?projectId=0&show=all")).toEqual([]);
    for (const query of ["?show=other", "?outcome=odd", "?after=1", "?page=2"])
      expect([query, (await admin.request("GET", `/api/activity${query}`)).status]).toEqual([query, 422]);
  });

  test("others see their projects alone, and no delivery at none", async () => {
    await deliverTo(url.replace(/[0-9a-f]{8}$/, "00000000"), { payload: {} });
    expect(await shown("?show=stopped")).toEqual(["push rejected", "push ignored"]);
    const viewer = await server.newUser("viewer");
    expect(await shown("?show=all", viewer.client)).toEqual([]);
    await admin.expect(200, "PUT", `/api/projects/${shop}/members/${viewer.id}`, { permission: "view" });
    expect(await shown("?show=stopped", viewer.client)).toEqual(["push ignored"]);
    expect((await server.anonymous.request("GET", "/api/activity")).status).toBe(401);
  });
});
