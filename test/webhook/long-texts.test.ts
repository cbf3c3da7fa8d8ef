import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { setUpHooks } from "../support/api-setup.ts";
import { availableDatabases } from "../support/databases.ts";
import { deliverTo } from "../support/hook.ts";

describe.each(await availableDatabases())("texts of a sender, on $name", async ({ make }) => {
  const server = await setUpHooks(make);

  /** The task of a delivery of our own format. */
  async function taskOf(payload: object) {
    const { url } = await server.project({ debounceSeconds: 0, events: ["push", "merge_request"] });
    const { status, body } = await deliverTo(url, { payload: { event: "push", ref: "main", ...payload } });
    expect(status).toBe(202);
    const task = await server.store.tasks.byId(Number(body.taskId));
    if (task === null) throw new Error("no task");
    return task;
  }

  test("a task of a very long author can end: an index of PostgreSQL refuses long names", async () => {
    // Random, because the database compresses other text.
    const author = randomBytes(15_000).toString("base64");
    const { id, ...task } = await taskOf({ author });
    expect([task.author, task.triggeredBy]).toEqual([author.slice(0, 255), author.slice(0, 255)]);
    expect(task.source?.pusher).toBe(author.slice(0, 255));
    const ended = { state: "canceled", finishedAt: new Date() } as const;
    expect(await server.store.tasks.change(id, { whileIn: ["queued"], set: ended })).toMatchObject(ended);
  });

  test("a task keeps the first 64 KiB of a message", async () => {
    const { message } = await taskOf({ message: "é".repeat(40_000) });
    expect(message).toBe("é".repeat(32 * 1024));
  });

  test("a target branch with characters of a shell is refused: scripts use it as CI_TARGET_BRANCH", async () => {
    const { url } = await server.project({ debounceSeconds: 0, events: ["merge_request"] });
    const payload = { event: "merge_request", ref: "pears", targetBranch: "$(id)" };
    const answer = await deliverTo(url, { payload });
    expect(answer.body).toMatchObject({ status: "ignored", code: "ref_invalid" });
  });

  test.each(["constructor", "__proto__", "toString"])("%s is no event that is known", async (event) => {
    const { url } = await server.project({ debounceSeconds: 0 });
    const answer = await deliverTo(url, { payload: { event, ref: "main" } });
    expect(answer.body).toMatchObject({ status: "ignored", code: "event_not_allowed" });
  });
});
