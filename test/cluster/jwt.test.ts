import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { freshPrefix } from "../support/buses.ts";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { RawSocket, upgradeHeaders } from "../support/raw-socket.ts";
import { serviceUrl } from "../support/services.ts";
import { jwtSecret, signedCode } from "../support/signed-code.ts";

async function statusOf({ port }: PushApp, code: string): Promise<number> {
  const socket = new RawSocket(port);
  socket.request("GET", `/ws?code=${code}`, upgradeHeaders);
  const { status } = await socket.answer();
  socket.end();
  return status;
}

describe.each(["amqp", "kafka"] as const)("codes that are JWTs, over %s", (name) => {
  let apps: PushApp[] = [];
  let startOne: (instanceId: string) => Promise<PushApp>;

  beforeAll(async () => {
    const url = await serviceUrl(name);
    const prefix = freshPrefix();
    startOne = async (instanceId) => {
      const app = await startPushApp({
        "push.cluster-enabled": true,
        "push.queue.url": url,
        "push.queue.prefix": prefix,
        "push.queue.instance-id": instanceId,
        "push.jwt.secrets": [jwtSecret],
      });
      apps.push(app);
      await eventually("it is ready", async () => (await app.get("/readyz")).status === 200);
      return app;
    };
    await Promise.all(["one", "two"].map(startOne));
  });

  afterAll(async () => {
    await Promise.all(apps.map((app) => app.stop()));
    apps = [];
  });

  test("a token with jti is accepted once in the whole cluster, also by an instance that started later", async () => {
    const [one, two] = apps as [PushApp, PushApp];
    const code = await signedCode({ sub: "42", jti: crypto.randomUUID() });
    const answers = await Promise.all([one, two, one, two].map((app) => statusOf(app, code)));
    expect(answers.toSorted()).toEqual([101, 401, 401, 401]);
    const three = await startOne("three");
    expect(await statusOf(three, code)).toBe(401);
    expect(await statusOf(three, await signedCode({ sub: "42", jti: crypto.randomUUID() }))).toBe(101);
  });
});
