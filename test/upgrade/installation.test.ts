import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type StageName, stageNames } from "../../src/model/stage/stage-name.ts";
import { type RunTask, runnerFeatures } from "../../src/runner/protocol.ts";
import { buildCli } from "../support/cli.ts";
import { eventually } from "../support/eventually.ts";
import { receiveNotifications } from "../support/notification-receiver.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { reasonsOf } from "./recorded-scene.ts";
import {
  type Caller,
  callerWith,
  copyInstallation,
  type Installation,
  type RunningServer,
  recordedDatabases,
  settingsFile,
  startOn,
  upgradedSettings,
} from "./recording.ts";

interface Project {
  name: string;
  stages: Record<StageName, { script: string }>;
  pipeline: Record<StageName, { name: string; script: string }[]> & { sealed: boolean };
}

interface TaskRow {
  id: number;
  state: string;
}

/** Set when the installation was recorded. */
const notifyKey = Buffer.from("cmVjb3JkZWQgc2lnbmluZyBrZXk=", "base64");

describe.each(await recordedDatabases())("the recorded installation on %s", (name) => {
  const receiver = receiveNotifications();
  let installation: Installation;
  let server: RunningServer;
  let admin: Caller;
  let before: TaskRow[];
  let projects: { name: string; stages: Record<StageName, { script: string }> }[];
  beforeAll(async () => {
    installation = await copyInstallation(name);
    before = (await installation.query("select id, state from tasks order by id")) as unknown as TaskRow[];
    // As in projects that were made before this choice.
    await installation.query(
      `update projects set stages = replace(stages, '"previous":"stop-first"', '"log":""') where name = 'states'`,
    );
    projects = (await installation.query("select name, stages from projects")).map((row) => {
      const { name, stages } = row as { name: string; stages: string };
      return { name, stages: JSON.parse(stages) };
    });
    await installation.query(
      "update runners set also_unlabelled = 1, isolated = 1, isolation = 'container' where name = 'linux'",
    );
    server = await startOn(installation);
    admin = callerWith(server.url, installation.facts.sessions.admin);
    // Nothing listened at the recorded address, so that calls waited.
    const shop = `/api/projects/${installation.facts.ids.project}`;
    const { notify } = await admin<{ notify: { id: string }[] }>("GET", shop);
    await admin("PATCH", shop, { notify: notify.map(({ id }) => ({ id, url: receiver.url, events: [] })) });
  });
  afterAll(async () => {
    await server?.stop();
    receiver.stop();
    await installation?.remove();
  });
  const stateOf = async (task: string) =>
    (await admin<TaskRow>("GET", `/api/tasks/${installation.facts.tasks[task]}`)).state;

  test("starts without creating a task, and keeps every task unchanged", async () => {
    const { items } = await admin<{ items: TaskRow[] }>("GET", "/api/tasks?pageSize=200");
    const now = items.map(({ id, state }) => ({ id, state })).sort((a, b) => a.id - b.id);
    expect(now.map(({ id }) => id)).toEqual(before.map(({ id }) => Number(id)));
    const finished = ["success", "failed", "canceled", "timeout", "lost", "queued", "waiting"];
    for (const { id, state } of before.filter((task) => finished.includes(task.state)))
      expect(now.find((task) => task.id === Number(id))?.state).toBe(state);
  });

  test("tells the recorded reasons of tasks and deliveries, word for word", async () => {
    const { facts } = installation;
    const reasons = await reasonsOf(admin);
    // These were with a runner that is gone.
    for (const task of ["dispatched", "running", "canceling"]) {
      const id = facts.tasks[task] ?? 0;
      reasons.tasks[id] = facts.reasons.tasks[id] ?? "";
    }
    expect(reasons).toEqual(facts.reasons);
  });

  test("completes a project without a choice for the previous service", async () => {
    const { projectId } = await admin("GET", `/api/tasks/${installation.facts.tasks.failed}`);
    const project = await admin("GET", `/api/projects/${projectId}`);
    expect(project).toMatchObject({ name: "states", stages: { start: { previous: "stop-first", log: "" } } });
  });

  test("has one step for each stage that had a script, and the same `stages` in answers", async () => {
    const { items } = await admin<{ items: Project[] }>("GET", "/api/projects?pageSize=200");
    expect(items.length).toBe(projects.length);
    for (const { name, stages, pipeline } of items) {
      const recorded = projects.find((project) => project.name === name)?.stages;
      for (const stage of stageNames) {
        const had = recorded?.[stage] ?? { script: "" };
        expect({ name, stage, now: stages[stage] }).toMatchObject({ name, stage, now: had });
        const steps = pipeline[stage].map(({ name: step, script }) => ({ name: step, script }));
        if (had.script !== "") expect(steps).toEqual([{ name: stage, script: had.script }]);
      }
      expect(pipeline.sealed).toBe(false);
    }
    const { releases } = await installation
      .query("select count(*) as releases from releases where pipeline not like '{\"build\":[%'")
      .then(([row]) => row as { releases: number });
    expect(Number(releases)).toBe(0);
  });

  test("accepts recorded passwords, sessions and tokens", async () => {
    const { facts } = installation;
    for (const username of ["admin", "ann"] as const) {
      const password = facts.passwords[username];
      await callerWith(server.url, "")("POST", "/api/auth/login", { username, password });
      const me = await callerWith(server.url, facts.sessions[username])("GET", "/api/auth/me");
      expect(me).toMatchObject({ username, scopes: null });
    }
    for (const token of Object.values(facts.apiTokens))
      await callerWith(server.url, token)("GET", "/api/auth/me");
    const ann = callerWith(server.url, facts.apiTokens.ann);
    expect(await ann("GET", `/api/projects/${facts.ids.project}`)).toMatchObject({ permission: "manage" });
    expect((await ann<{ items: unknown[] }>("GET", "/api/projects")).items).toHaveLength(1);
    const refused = await fetch(`${server.url}/api/auth/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ username: "bob", password: "the recorded password of bob" }),
    });
    expect([401, 403]).toContain(refused.status);
    const verdict = await callerWith(server.url, "")("GET", `/api/push/verify?code=${facts.pushCode}`);
    expect(verdict).toMatchObject({ userId: "customer 7" });
  });

  test("keeps logs, deliveries with their traces and bodies, and the audit", async () => {
    const { ids } = installation.facts;
    const log = await admin<{ lines: { text: string }[] }>("GET", `/api/tasks/${ids.task}/log`);
    expect(log.lines.map(({ text }) => text)).toContain("building");
    const delivery = await admin<{ trace: unknown[]; body: string }>(
      "GET",
      `/api/webhooks/deliveries/${ids.delivery}`,
    );
    expect(delivery.trace.length).toBeGreaterThan(3);
    expect(delivery.body).toContain("First push to github");
    for (const status of ["accepted", "merged", "ignored", "rejected", "failed"]) {
      const list = await admin<{ total: number }>("GET", `/api/webhooks/deliveries?status=${status}`);
      expect(list.total).toBeGreaterThan(0);
    }
    const audit = await admin<{ total: number }>("GET", "/api/audit");
    expect(audit.total).toBeGreaterThan(50);
  });

  test("registers runners with what they have reported, and believes the local runner", async () => {
    const { items } = await admin<{ items: { name: string }[] }>("GET", "/api/runners?pageSize=200");
    const named = (name: string) => items.find((runner) => runner.name === name);
    const trusted = { alsoUnlabelled: true, trustedIsolation: "container", isolated: true };
    expect(named("linux")).toMatchObject({ ...trusted, isolation: "container" });
    const doubted = { alsoUnlabelled: false, trustedIsolation: "none", isolated: false };
    expect(named("free")).toMatchObject({ ...doubted, isolation: "none" });
    expect(named("local")).toMatchObject({ isolation: "none", trustedIsolation: "container" });
  });

  test("ends or requeues tasks whose runner is gone, as documented", async () => {
    await eventually("every lease is over", async () => {
      const states = await Promise.all(["dispatched", "running", "canceling"].map(stateOf));
      return states.join() === "queued,queued,canceled";
    });
  });

  test("gives the queued tasks to a runner, with the secrets and the credential opened", async () => {
    const { facts } = installation;
    const call = (name: string, body: object) =>
      fetch(`${server.url}/api/runner/${name}`, {
        method: "POST",
        headers: { authorization: `Bearer ${facts.runnerTokens.free}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const claimed: RunTask[] = [];
    while (claimed.length < 3) {
      const response = await call("claim", {
        labels: [],
        concurrency: 2,
        version: "0.1.0",
        features: runnerFeatures,
      });
      const task = (await response.json()) as RunTask;
      claimed.push(task);
      const { taskId, attempt, lease } = task;
      const end = { taskId, attempt, lease, state: "failed", reason: "It was only claimed." };
      expect((await call("finish", end)).status).toBe(200);
    }
    // Manual runs go first, the older before the newer; the first two were requeued.
    const { dispatched = 0, running = 0, queued } = facts.tasks;
    expect(claimed.map(({ taskId }) => taskId)).toEqual([
      ...[dispatched, running].sort((a, b) => a - b),
      Number(queued),
    ]);
    expect(claimed[2]).toMatchObject({
      type: "run_task",
      projectId: facts.ids.project,
      secrets: { DEPLOY_KEY: facts.secrets.DEPLOY_KEY, OTHER: facts.secrets.OTHER },
      repo: { credential: { type: "token", username: "deploy", token: facts.secrets.credential } },
      env: { NODE_ENV: "production" },
    });
    expect(await stateOf("queued")).toBe("failed");
    expect(await stateOf("queuedLabelled")).toBe("queued");
    expect(await stateOf("windowed")).toBe("queued");
  });

  test("accepts deliveries at the recorded addresses with the recorded signatures", async () => {
    for (const { provider, projectId, path, headers, body } of installation.facts.hooks) {
      const sent = Object.fromEntries(
        Object.entries(headers).map(([header, value]) => [
          header,
          /delivery|uuid|idempotency/.test(header) ? crypto.randomUUID() : value,
        ]),
      );
      const response = await fetch(server.url + path, {
        method: "POST",
        headers: { "content-type": "application/json", ...sent },
        body,
      });
      const answer = (await response.json()) as { taskId: number };
      expect({ provider, status: response.status, ...answer }).toMatchObject({ status: "accepted" });
      expect(await admin("GET", `/api/tasks/${answer.taskId}`)).toMatchObject({ projectId });
      const forged = await fetch(server.url + path, {
        method: "POST",
        headers: { "content-type": "application/json", ...sent },
        body: body.replace("First", "Other"),
      });
      const provesBody = !["gitlab", "gitee"].includes(provider);
      expect({ provider, status: forged.status }).toEqual({ provider, status: provesBody ? 401 : 202 });
    }
  });

  test("continues a debounce window that was open", async () => {
    const { ids, tasks } = installation.facts;
    const { url } = await admin<{ url: string }>("GET", `/api/projects/${ids.windowed}/webhook`);
    const event = { event: "push", ref: "refs/heads/main", commit: "1".repeat(40), message: "Later" };
    const response = await fetch(server.url + new URL(url).pathname, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(event),
    });
    expect(await response.json()).toMatchObject({ status: "merged", mergedIntoTaskId: tasks.windowed });
  });

  test("sends the notifications that waited, signed with the stored key", async () => {
    await eventually("a notification arrives", () => receiver.received.length > 0);
    const [first] = receiver.received;
    const header = (name: string) => first?.headers.get(`webhook-${name}`) ?? "";
    const signed = `${header("id")}.${header("timestamp")}.${first?.body}`;
    const signature = createHmac("sha256", notifyKey).update(signed).digest("base64");
    expect(header("signature")).toBe(`v1,${signature}`);
  });

  test("removes its sample with its repository and nothing else", async () => {
    const { ids } = installation.facts;
    const { git } = await admin<{ git: { url: string } }>("GET", `/api/projects/${ids.sample}`);
    expect(existsSync(git.url)).toBe(true);
    await admin("DELETE", `/api/samples/${ids.sample}`);
    expect(existsSync(git.url)).toBe(false);
    expect(existsSync(join(installation.dataDir, "slipway.key"))).toBe(true);
    expect(existsSync(join(installation.dataDir, "samples"))).toBe(true);
  });

  test("starts again on the upgraded data", async () => {
    await server.stop();
    server = await startOn(installation);
    const me = await callerWith(server.url, installation.facts.sessions.admin)("GET", "/api/auth/me");
    expect(me).toMatchObject({ username: "admin" });
  });
});

test("of the recorded settings file only removed settings are refused, with what to write instead", async () => {
  const check = (file: string) => buildCli({})(["config", "check", "--config", file]);
  const { exitCode, stderr } = await check(settingsFile);
  expect([exitCode, stderr.match(/was removed in version 2\.0/g)]).toEqual([
    2,
    ["was removed in version 2.0"],
  ]);
  expect(stderr).toContain("push.resume.messages");
  expect(await check(upgradedSettings(temporaryFolder("settings")))).toMatchObject({ exitCode: 0 });
});
