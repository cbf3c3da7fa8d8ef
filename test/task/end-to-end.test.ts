import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type DeployServer, startDeployServer } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { type Received, receiveNotifications } from "../support/notification-receiver.ts";
import { signalIfAlive } from "../support/process-watch.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const secret = "hook-secret-of-the-test";
const signingKey = `whsec_${Buffer.from("a key for outgoing webhooks").toString("base64")}`;
const notifications = receiveNotifications();
let server: DeployServer;
let repository: GitRepository;
let target: string;
let projectId: number;
const port = freePort();

/** Ends the running version, then starts the deployed one. */
const start = `
[ -f "$TARGET/pid" ] && kill "$(cat "$TARGET/pid")" 2>/dev/null || true
cd "$TARGET"
nohup "$BUN" server.ts >server.log 2>&1 &
echo $! >"$TARGET/pid"
`;

/** The hook of a bare repository: one signed call per pushed ref. */
const hookScript = (url: string) => `#!/bin/sh
while read -r old new ref; do
  body=$(printf '{"event":"push","ref":"%s","refType":"branch","commit":"%s","message":"%s","author":"ann"}' \\
    "$ref" "$new" "$(git log -1 --format=%s "$new")")
  curl -sS -o /dev/null -H 'content-type: application/json' -H "X-CICD-Token: ${secret}" -d "$body" '${url}'
done
`;

const serviceCode = `
const version = (await Bun.file("version.txt").text()).trim();
Bun.serve({ hostname: "127.0.0.1", port: Number(process.env.SERVICE_PORT), fetch: () => new Response(version) });
`;

const files = (version: string) => ({ "version.txt": version, "server.ts": serviceCode });

const answered = () => fetch(`http://127.0.0.1:${port}/`).then((response) => response.text());

beforeAll(async () => {
  repository = await makeRepository();
  target = temporaryFolder("target");
  server = await startDeployServer();
  projectId = await server.project(
    repository.url,
    {},
    {
      stages: {
        build: { script: 'echo "building $(cat version.txt)"' },
        deploy: { script: 'cp version.txt server.ts "$TARGET"' },
        start: {
          script: start,
          healthCheck: {
            type: "command",
            command: `[ "$(curl -s http://127.0.0.1:${port}/)" = "$(cat version.txt)" ]`,
            timeoutSeconds: 20,
          },
        },
      },
      env: { TARGET: target, BUN: process.execPath, SERVICE_PORT: String(port) },
      notify: [{ url: notifications.url }],
    },
  );
  await server.admin.expect(204, "PUT", `/api/projects/${projectId}/keys/notify-key`, { value: signingKey });
  const { url } = await server.admin.expect<{ url: string }>(
    200,
    "PUT",
    `/api/projects/${projectId}/webhook`,
    {
      enabled: true,
      secret,
    },
  );
  repository.hook("post-receive", hookScript(url));
});
afterAll(async () => {
  await server.stop();
  server.remove();
  const pid = join(target, "pid");
  if (existsSync(pid)) signalIfAlive(Number(readFileSync(pid, "utf8")), "SIGKILL");
  notifications.stop();
});

interface DeliveryRow {
  id: number;
  status: string;
  task_id: number;
  commit: string;
  commit_message: string;
  author: string;
}

async function newestDelivery(commit: string): Promise<DeliveryRow> {
  let found: DeliveryRow | undefined;
  await eventually(`the push of ${commit} was delivered`, async () => {
    const path = `/api/webhooks/deliveries?projectId=${projectId}`;
    const { items } = await server.admin.expect<{ items: DeliveryRow[] }>(200, "GET", path);
    found = items.find((item) => item.commit === commit);
    return found !== undefined;
  });
  return found as DeliveryRow;
}

function isSigned({ headers, body }: Received): boolean {
  const content = `${headers.get("webhook-id")}.${headers.get("webhook-timestamp")}.${body}`;
  const key = Buffer.from(signingKey.slice("whsec_".length), "base64");
  return (
    headers.get("webhook-signature") === `v1,${createHmac("sha256", key).update(content).digest("base64")}`
  );
}

const events = ["task.queued", "task.started", "task.succeeded"];

describe("git push in, live deploy out", () => {
  let pushed: Awaited<ReturnType<DeployServer["reach"]>>;

  test("a push builds, deploys and starts the new version; delivery, task, commit and messages agree", async () => {
    for (const version of ["one", "two"]) {
      const commit = await repository.push(files(version), { message: `Version ${version}` });
      const delivery = await newestDelivery(commit);
      expect(delivery).toMatchObject({
        status: "accepted",
        commit_message: `Version ${version}`,
        author: "ann",
      });
      pushed = await server.reach(delivery.task_id, "success");
      expect(pushed).toMatchObject({
        triggerType: "webhook",
        triggeredBy: "ann",
        deliveryId: delivery.id,
        ref: "refs/heads/main",
        commit,
        message: `Version ${version}`,
      });
      expect(await answered()).toBe(version);
      const log = await server.log(pushed.id);
      expect(log.map((line) => line.text)).toContain(`building ${version}`);
      const told = await notifications.event(pushed.id, "task.succeeded");
      expect(notifications.eventsOf(pushed.id)).toEqual(events);
      expect(isSigned(told)).toBe(true);
      expect(told.json.data).toMatchObject({ project: { id: projectId }, task: { id: pushed.id, commit } });
    }
  });

  test("a manual run creates the same rows and messages, except for the trigger", async () => {
    const manual = await server.reach((await server.run(projectId)).id, "success");
    await notifications.event(manual.id, "task.succeeded");
    expect(notifications.eventsOf(manual.id)).toEqual(notifications.eventsOf(pushed.id));
    const noTimes = { startedAt: "", finishedAt: "" };
    const plain = (task: typeof manual) => ({
      ...task,
      id: 0,
      deliveryId: 0,
      triggerType: "",
      triggeredBy: "",
      author: "",
      source: null,
      createdAt: "",
      startedAt: "",
      finishedAt: "",
      stages: task.stages.map((stage) => ({
        ...stage,
        ...noTimes,
        steps: stage.steps.map((step) => ({ ...step, ...noTimes })),
      })),
    });
    expect(plain(manual)).toEqual(plain(pushed));
    expect(manual).toMatchObject({ triggerType: "manual", triggeredBy: "admin" });
    const texts = async (id: number) =>
      (await server.log(id)).map(
        ({ stage, text }) =>
          `${stage} ${text.replace(/task \d+ \(commit \w+\)/, "task").replace(/^\[sealed: .*/, "[sealed]")}`,
      );
    expect(await texts(manual.id)).toEqual(await texts(pushed.id));
  });

  test("an earlier commit is deployed again, and the project shows what is live", async () => {
    const first = await repository.git("rev-parse", "HEAD~1");
    const rollback = await server.reach((await server.run(projectId, { commit: first })).id, "success");
    expect(await answered()).toBe("one");
    expect(rollback.commit).toBe(first);
    const again = await server.admin.expect<{ id: number }>(201, "POST", `/api/tasks/${pushed.id}/rerun`);
    expect(await server.reach(again.id, "success")).toMatchObject({
      rerunOf: pushed.id,
      commit: pushed.commit,
    });
    expect(await answered()).toBe("two");
    const project = await server.admin.expect(200, "GET", `/api/projects/${projectId}`);
    expect(project).toMatchObject({ liveTaskId: again.id });
  });
});
