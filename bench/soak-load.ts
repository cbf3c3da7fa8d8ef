import { SlipwayPush } from "../client/slipway-push.ts";
import { makeRepository } from "../test/support/git-repository.ts";
import { hmac } from "../test/support/hook.ts";
import { receiveNotifications } from "../test/support/notification-receiver.ts";
import type { ServerProcess } from "../test/support/server-process.ts";

/** Number of calls by kind, and of failed ones. */
export interface LoadCounts {
  deliveries: number;
  publishes: number;
  received: number;
  connects: number;
  reads: number;
  notifications: number;
  failures: number;
}

export interface SoakLoad {
  counts: LoadCounts;
  stop(): Promise<void>;
}

const projectCount = 8;
const steadyClients = 100;
const secret = "the secret of the soak";
const perSecond = { deliveries: 10, publishes: 50, connects: 10, reads: 4 };

/** A mix of everything that users do, at rates that leave half of the machine idle. */
export async function startSoakLoad(server: ServerProcess): Promise<SoakLoad> {
  const counts: LoadCounts = {
    deliveries: 0,
    publishes: 0,
    received: 0,
    connects: 0,
    reads: 0,
    notifications: 0,
    failures: 0,
  };
  const repository = await makeRepository();
  const commit = await repository.push({ "app.txt": "one\n" });
  const receiver = receiveNotifications();
  const hooks = await Promise.all(
    Array.from({ length: projectCount }, (_, index) => makeHook(server, repository.url, receiver.url, index)),
  );
  const wsUrl = `${server.url.replace("http", "ws")}/ws`;
  const connect = (user: string) => {
    const push = new SlipwayPush({ url: wsUrl, code: async () => user, channels: ["news"] });
    push.on("message", () => counts.received++);
    push.open();
    counts.connects++;
    return push;
  };
  const steady = Array.from({ length: steadyClients }, (_, index) => connect(`user-${index}`));
  const passing: SlipwayPush[] = [];

  const post = (url: string, body: string, headers: Record<string, string> = {}) =>
    fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });

  const acts: Record<keyof typeof perSecond, (turn: number) => Promise<void>> = {
    async deliveries(turn) {
      const body = JSON.stringify({
        event: "push",
        ref: "refs/heads/main",
        commit,
        message: `change ${turn}`,
        author: "ann",
      });
      const response = await post(hooks[turn % hooks.length] ?? "", body, {
        "x-cicd-token": hmac(secret, body),
      });
      if (response.status !== 200 && response.status !== 202) throw new Error(await response.text());
      await response.arrayBuffer();
    },
    async publishes(turn) {
      const target = [
        { targetType: "all", target: "" },
        { targetType: "user", target: `user-${turn % steadyClients}` },
        { targetType: "temp_user", target: `user-${turn % steadyClients}` },
        { targetType: "channel", target: "news" },
      ][turn % 4];
      const key: Record<string, string> = turn % 2 ? { "idempotency-key": `soak-${turn}` } : {};
      const response = await post(
        `${server.url}/feign/publish`,
        JSON.stringify({ ...target, data: "x".repeat(100) }),
        key,
      );
      if (response.status !== 200) throw new Error(await response.text());
      await response.arrayBuffer();
    },
    async connects(turn) {
      passing.push(connect(`passing-${turn % 50}`));
      if (passing.length > 50) passing.shift()?.close();
    },
    async reads(turn) {
      const paths = [
        "/api/projects",
        "/api/tasks?pageSize=50",
        "/api/webhooks/deliveries?pageSize=50",
        "/readyz",
        "/metrics",
      ];
      await server.admin.expect(200, "GET", paths[turn % paths.length] ?? "/readyz");
    },
  };

  const timers = (Object.keys(acts) as (keyof typeof perSecond)[]).map((name) =>
    setInterval(() => {
      const turn = counts[name]++;
      acts[name](turn).catch((error) => {
        if (counts.failures++ < 5) console.error(`soak ${name}: ${error}`);
      });
      counts.notifications += receiver.received.splice(0).length;
    }, 1_000 / perSecond[name]),
  );
  return {
    counts,
    async stop() {
      for (const timer of timers) clearInterval(timer);
      for (const push of [...steady, ...passing]) push.close();
      receiver.stop();
      repository.remove();
    },
  };
}

/** Half of the projects debounce; all skip deliveries while they are busy. Returns the address of the hook. */
async function makeHook(
  server: ServerProcess,
  gitUrl: string,
  notifyUrl: string,
  index: number,
): Promise<string> {
  const notify = [{ url: notifyUrl, events: ["task.succeeded"] }];
  const scripts = { build: "for line in $(seq 20); do echo line $line; done", deploy: "sleep 0.2" };
  const id = await server.project(gitUrl, scripts, { notify });
  const { url } = await server.admin.expect<{ url: string }>(200, "PUT", `/api/projects/${id}/webhook`, {
    enabled: true,
    secret,
    verifyMode: "hmac",
    debounceSeconds: index % 2 === 0 ? 2 : 0,
    queuePolicy: "skip",
  });
  return url;
}
