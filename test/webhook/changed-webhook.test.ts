import { afterAll, describe, expect, test } from "bun:test";
import type { AnyOperation, Store } from "../../src/model/store.ts";
import type { WebhookChange } from "../../src/webhook/save-webhook.ts";
import { availableDatabases } from "../support/databases.ts";
import { deliverTo } from "../support/hook.ts";
import { type HookServer, startHookServer } from "../support/hook-server.ts";
import { sampleAuditEntry } from "../support/samples.ts";

const push = {
  payload: { event: "push", ref: "refs/heads/main" },
  headers: { "X-CICD-Token": "right" },
};

for (const { name, make } of await availableDatabases())
  describe(`a webhook that is changed between the proof of a delivery and its decision, on ${name}`, async () => {
    const database = await make();
    const store = await database.open();
    let beforeDecision = async () => {};
    /** Changes the webhook when its delivery is verified and about to be decided. */
    const changing = {
      ...store,
      async run(operation: AnyOperation, input: unknown, lock?: never) {
        if (operation.name === "acceptDelivery") await beforeDecision();
        return store.run(operation, input as never, lock as never);
      },
    } as Store;
    const server: HookServer = await startHookServer(changing);
    afterAll(async () => {
      await server.stop();
      await database.remove();
    });

    async function deliver(saved: WebhookChange, change: (id: number) => Promise<unknown>) {
      const { id, url } = await server.project({ secret: "right", debounceSeconds: 0, ...saved });
      beforeDecision = async () => {
        beforeDecision = async () => {};
        await change(id);
      };
      const { status, body } = await deliverTo(url, push);
      const record = await store.deliveries.byId(Number(body.deliveryId));
      const tasks = await store.tasks.list({ projectId: id }, { page: 1, pageSize: 1 });
      return { id, status, code: body.code, record, tasks: tasks.total };
    }
    const save = (change: WebhookChange) => (id: number) =>
      server.part.management.save(id, change, () => null);

    test("is decided by its new rules", async () => {
      const { status, code, record, tasks } = await deliver({}, save({ branchFilter: ["release"] }));
      expect([status, code, tasks]).toEqual([200, "branch_not_matched", 0]);
      expect(record?.trace.map(({ step }) => step)).toEqual(expect.arrayContaining(["signature", "branch"]));
      const opened = await deliver({ branchFilter: ["release"] }, save({ branchFilter: [] }));
      expect([opened.status, opened.tasks]).toEqual([202, 1]);
    });

    test("starts no task by a secret that was replaced, and is recorded for its project", async () => {
      const { id, status, code, record, tasks } = await deliver({}, save({ secret: "other" }));
      expect([status, code, tasks]).toEqual([401, "signature_invalid", 0]);
      expect(record).toMatchObject({ project_id: id, normalized: { rawRef: "refs/heads/main" } });
      const other = { provider: "github" as const };
      expect(await deliver({}, save(other))).toMatchObject({ code: "signature_invalid", tasks: 0 });
    });

    test("still accepts a secret that stays when another one is added", async () => {
      const added = save({ secondSecret: "next", secondSecretUntil: new Date(Date.now() + 3_600_000) });
      expect(await deliver({}, added)).toMatchObject({ status: 202, tasks: 1 });
    });

    test("is refused once it is off, and its delivery is recorded for its project", async () => {
      const { id, status, code, record, tasks } = await deliver({}, save({ enabled: false }));
      expect([status, code, tasks]).toEqual([403, "webhook_disabled", 0]);
      expect(record?.project_id).toBe(id);
      expect(record?.trace.at(-1)).toMatchObject({ step: "enabled", result: "stop" });
    });

    test("is unknown once its key was reset, or its project deleted", async () => {
      const reset = await deliver({}, (id) => server.part.management.resetKey(id, sampleAuditEntry));
      expect([reset.status, reset.code, reset.tasks]).toEqual([404, "endpoint_not_found", 0]);
      expect(reset.record).toMatchObject({ project_id: 0, former_project_id: reset.id, body: "" });
      const deleted = await deliver({}, (id) => store.projects.delete(id));
      expect([deleted.status, deleted.code, deleted.record?.project_id]).toEqual([
        404,
        "endpoint_not_found",
        0,
      ]);
    });
  });
