import { afterAll, expect, test } from "bun:test";
import { eventually } from "../support/eventually.ts";
import { startVerifyService } from "../support/verify-service.ts";
import { startWorkers } from "../support/worker-instance.ts";

const verify = startVerifyService();
const push = await startWorkers(3, { "push-verify-uri": verify.url });

afterAll(async () => {
  await push.stop();
  await verify.stop();
});

interface Traced {
  cause: { code: string; values: Record<string, string> };
  instances: object[];
  missing: string[];
}

test("the trace of a message adds up what all workers know", async () => {
  const clients = await push.openOnEach("code=anna");
  const answer = await push.publish({ targetType: "user", target: "anna", data: "sign", ack: true });
  const id = answer.headers.get("x-push-id");
  const [acknowledging] = clients;
  await eventually("it arrives", () => acknowledging?.messages.includes("sign") ?? false);
  acknowledging?.send(JSON.stringify({ type: "ack", id }));
  // Several times, so that each worker is very likely asked.
  for (let time = 0; time < 10; time++)
    await eventually("one has acknowledged", async () => {
      const { data } = (await (await push.call(`/feign/messages/${id}`)).json()) as { data: Traced };
      expect(data.missing).toEqual([]);
      expect(data.instances).toMatchObject([{ state: "distributed", written: 3 }]);
      const { code, values } = data.cause;
      return code === "trace_acknowledged" && values.count === "1" && values.total === "3";
    });
  for (const client of clients) client.close();
});
