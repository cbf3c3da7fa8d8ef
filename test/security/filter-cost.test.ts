import { describe, expect, test } from "bun:test";
import { setUpApi } from "../support/api-setup.ts";
import { deliveryOf, makeHook, sha, tasksOf } from "../support/hook.ts";

/** More than the budget allows on a busy machine, far less than the 20 s that one such request could take. */
const longestPauseMs = 2500;

const server = await setUpApi({ "webhook.limitPerMinute": 10_000 });

/** The longest time that the event loop was blocked during `work`; a pause of the whole process does not count. */
async function longestPause(work: () => Promise<unknown>): Promise<number> {
  let [longestMs, lastMs, lastCpu] = [0, performance.now(), process.cpuUsage()];
  const tick = () => {
    const { user, system } = process.cpuUsage(lastCpu);
    longestMs = Math.max(longestMs, Math.min(performance.now() - lastMs, (user + system) / 1000));
    [lastMs, lastCpu] = [performance.now(), process.cpuUsage()];
  };
  const timer = setInterval(tick, 5);
  await work();
  tick();
  clearInterval(timer);
  return longestMs;
}

const many = <T>(count: number, make: (n: number) => T) => Array.from({ length: count }, (_, n) => make(n));
/** Matches none of the paths below, but only at their ends. */
const hostile = many(100, (n) => "*é".repeat(110 + (n % 10)));
const paths = many(8000, (n) => `${"é".repeat(40)}${n}é`);
const push = { event: "push", ref: "refs/heads/main", commit: sha("a"), author: "ann" };

describe("100 hostile patterns over 8,000 paths", async () => {
  const hook = await makeHook(server, { debounceSeconds: 0, pathFilter: hostile });

  test("leave a live delivery's paths unknown, which passes, and its record says why", async () => {
    let answer: { status: number; body: Record<string, unknown> } | undefined;
    const pauseMs = await longestPause(async () => {
      answer = await hook.deliver({ payload: { ...push, paths } });
    });
    expect(pauseMs).toBeLessThan(longestPauseMs);
    expect(answer?.status).toBe(202);
    expect(String(answer?.body.reason)).toContain("too complex");
    const record = await deliveryOf(server.admin, answer?.body.deliveryId);
    const steps = record.trace as { step: string; result: string }[];
    expect(steps.find(({ step }) => step === "path")?.result).toBe("unknown");
  });

  test("and a what-if answers that they are too complex", async () => {
    for (let n = 0; n < 5; n++) await hook.deliver({ payload: { ...push, paths } });
    await hook.save({ pathFilter: [] });
    let answer: { status: number; body: unknown } | undefined;
    const pauseMs = await longestPause(async () => {
      answer = await server.admin.request("POST", `/api/projects/${hook.projectId}/webhook/what-if`, {
        config: { pathFilter: hostile },
        last: 200,
      });
    });
    expect(pauseMs).toBeLessThan(longestPauseMs);
    expect(answer).toMatchObject({ status: 422, body: { error: { code: "invalid" } } });
    expect(JSON.stringify(answer?.body)).toContain("too complex");
  });

  test("while usual patterns over them are judged", async () => {
    const path = `/api/projects/${hook.projectId}/webhook/what-if`;
    const config = { pathFilter: many(100, (n) => `src/module-${n}/**/*.ts`) };
    const { items } = await server.admin.expect<{ items: { proposed: { code: string } }[] }>(
      200,
      "POST",
      path,
      {
        config,
        last: 200,
      },
    );
    expect(new Set(items.map(({ proposed }) => proposed.code))).toEqual(new Set(["path_not_matched"]));
  });

  test("and a dry run is bounded too", async () => {
    await hook.save({ pathFilter: hostile });
    const pauseMs = await longestPause(() =>
      server.admin.expect(200, "POST", `/api/projects/${hook.projectId}/webhook/test`, {
        ref: "main",
        paths: paths.slice(0, 8000),
      }),
    );
    expect(pauseMs).toBeLessThan(longestPauseMs);
  });
});

describe("a filter", () => {
  /** A push of Bitbucket that names very many refs, each as costly as a ref can be. */
  const changes = (type: string) =>
    many(1000, (n) => ({
      new: { type, name: `${"é".repeat(100)}${n}é`, target: { hash: sha(String(n)), message: "m" } },
    }));

  for (const [type, event, filter] of [
    ["branch", "push", "branchFilter"],
    ["tag", "tag", "tagFilter"],
  ] as const)
    test(`of a ${type} never passes unevaluated`, async () => {
      const hook = await makeHook(server, {
        provider: "bitbucket",
        events: [event],
        [filter]: hostile,
        debounceSeconds: 0,
      });
      let answer: { status: number; body: Record<string, unknown> } | undefined;
      const pauseMs = await longestPause(async () => {
        answer = await hook.deliver({
          payload: { push: { changes: changes(type) } },
          headers: { "X-Event-Key": "repo:push" },
        });
      });
      expect(pauseMs).toBeLessThan(longestPauseMs);
      expect(answer?.body).toMatchObject({ status: "ignored", code: `${type}_not_matched` });
      expect(String(answer?.body.reason)).toContain("too complex to evaluate every ref of the push");
      expect(await tasksOf(server.admin, hook.projectId)).toEqual([]);
    });

  test("of a target branch as long as a body stops too", async () => {
    const hook = await makeHook(server, {
      events: ["merge_request"],
      branchFilter: hostile.map((pattern) => `${pattern}?`),
    });
    let answer: { status: number; body: Record<string, unknown> } | undefined;
    const pauseMs = await longestPause(async () => {
      const targetBranch = `${"é".repeat(400_000)}/`;
      answer = await hook.deliver({ payload: { event: "merge_request", ref: "main", targetBranch } });
    });
    expect(pauseMs).toBeLessThan(longestPauseMs);
    expect(answer?.body).toMatchObject({ code: "ref_invalid" });
  });
});
