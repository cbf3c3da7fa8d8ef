import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type ChatServiceName, chatServices, startChatServices } from "../support/chat-services.ts";
import { type DeployServer, startDeployServer } from "../support/deploy-server.ts";
import { eventually } from "../support/eventually.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";

const names = Object.keys(chatServices) as ChatServiceName[];

/** Mentions, links and markup of all services at once. */
const hostile =
  '<!channel> @everyone <@U1> <at user_id="all"></at> [x](https://evil.example/a) `c` *b* _i_ https://evil.example/b evil.example </code><a href="https://evil.example/c">x</a> ```';

interface Target {
  id: string;
  format: string;
  url: string;
  events: string[];
  logLines: number;
  secretSet: boolean;
}
interface Attempt {
  event: string;
  targetId: string;
  delivered: boolean;
  status: number | null;
  fault: string;
  response: string;
}

const services = startChatServices();
let server: DeployServer;
let repository: GitRepository;
let projectId: number;
let targets: Target[];
let hookUrl: string;

beforeAll(async () => {
  repository = await makeRepository();
  server = await startDeployServer();
  projectId = await server.project(
    repository.url,
    { build: `printf '%s\\n' "$HOSTILE"; test ! -e fail`, deploy: "true" },
    {
      name: "shop_*x*",
      env: { HOSTILE: `log ${hostile}` },
      notify: names.map((format) => ({
        format,
        url: services.addressOf(format),
        events: ["task.succeeded", "task.failed", "delivery.rejected"],
        logLines: 5,
        ...("secret" in chatServices[format] ? { secret: chatServices[format].secret } : {}),
      })),
    },
  );
  const webhook = {
    enabled: true,
    provider: "gitea",
    secret: "hook secret",
    events: ["push"],
    branchFilter: [],
  };
  hookUrl = (
    await server.admin.expect<{ url: string }>(200, "PUT", `/api/projects/${projectId}/webhook`, webhook)
  ).url;
  targets = await targetsNow();
});
afterAll(async () => {
  await server.stop();
  server.remove();
  services.stop();
});

const project = () => `/api/projects/${projectId}`;
const targetsNow = async () =>
  (await server.admin.expect<{ notify: Target[] }>(200, "GET", project())).notify;
const attempts = async () =>
  (await server.admin.expect<{ items: Attempt[] }>(200, "GET", `${project()}/notification-attempts`)).items;

async function push(commit: string, branch: string): Promise<number> {
  const body = JSON.stringify({
    ref: `refs/heads/${branch}`,
    after: commit,
    pusher: { login: `ann ${hostile}` },
    head_commit: { id: commit, message: `subject ${hostile}\n\nsecond line` },
    commits: [],
  });
  const signature = new Bun.CryptoHasher("sha256", "hook secret").update(body).digest("hex");
  const headers = {
    "x-gitea-event": "push",
    "x-gitea-signature": signature,
    "content-type": "application/json",
  };
  const answer = (await (await fetch(hookUrl, { method: "POST", headers, body })).json()) as {
    taskId: number;
  };
  return answer.taskId;
}

describe("a message about a task", () => {
  const branch = "feat/@all_x_www.evil.example";

  test("is taken by every service, names what happened, and has no link or mention of other people", async () => {
    const good = await repository.push({ "app.txt": "one\n" }, { message: `subject ${hostile}`, branch });
    const first = await push(good, branch);
    await server.reach(first, "success");
    const bad = await repository.push({ fail: "" }, { message: `subject ${hostile}`, branch });
    const second = await push(bad, branch);
    await server.reach(second, "failed");

    for (const name of names) {
      const succeeded = await services.message(name, `task ${first} succeeded`);
      const failed = await services.message(name, `task ${second} failed`);
      expect(succeeded.links).toEqual([`${server.url}/tasks/${first}`]);
      expect(failed.links).toEqual([`${server.url}/tasks/${second}`]);
      expect(succeeded.literal).toMatch(new RegExp(`${good.slice(0, 7)} .this task.`));
      const shown = failed.literal;
      expect(shown).toContain(bad.slice(0, 7));
      expect(shown).toContain("subject");
      expect(shown).not.toContain("second line");
      expect(shown).toContain("ann");
      expect(shown).toMatch(/\d+ s\b/);
      // What is serving is the commit of the task before.
      expect(shown).toMatch(new RegExp(`${good.slice(0, 7)} .task ${first}.`));
      expect(shown).toContain("log ");
    }
    expect(services.problems).toEqual([]);
  });

  test("has no log line where the target asked for none", async () => {
    const [slack, ...others] = targets;
    await server.admin.expect(200, "PATCH", project(), {
      notify: [{ id: slack?.id, logLines: 0, events: ["task.failed"] }, ...others.map(({ id }) => ({ id }))],
    });
    const { id } = await server.run(projectId, { ref: branch });
    await server.reach(id, "failed");
    const { literal } = await services.message("slack", `task ${id} failed`);
    expect(literal).not.toContain("log ");
    expect((await services.message("discord", `task ${id} failed`)).literal).toContain("log ");
  });
});

describe("the address of a target", () => {
  test("is shown by its host and last four characters, and stored nowhere as text", async () => {
    for (const target of targets) {
      const whole = services.addressOf(target.format as ChatServiceName);
      expect(target.url).toBe(`${new URL(whole).origin}/…${whole.slice(-4)}`);
      expect(target.secretSet).toBe(["dingtalk", "feishu"].includes(target.format));
    }
    const database = new Database(join(server.dataDir, "slipway.db"), { readonly: true });
    const stored = JSON.stringify([
      ...database.query("select * from projects").all(),
      ...database.query("select * from project_secrets").all(),
      ...database.query("select * from outgoing_calls").all(),
      ...database.query("select * from outgoing_attempts").all(),
      ...database.query("select * from audit").all(),
    ]);
    database.close();
    const logged = server.logLines.join("\n");
    for (const part of [
      "XXXXXXXXXXXXXXXXXXXXXXXX",
      "abcdefghijklmnopqrstuvwxyz",
      "0123456789abcdef0123456789abcdef",
      "SEC0123456789abcdef",
      "456789abcdef",
      "7aoc-4bc4",
      "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
    ]) {
      expect(stored).not.toContain(part);
      expect(logged).not.toContain(part);
    }
  });

  test("stays when the target is sent back by its id, by what reads show, or by the whole address", async () => {
    const before = await targetsNow();
    const [slack, discord, dingtalk, ...others] = before;
    await server.admin.expect(200, "PATCH", project(), {
      notify: [
        { id: slack?.id, events: ["task.failed"] },
        { url: services.addressOf("discord"), events: ["task.failed"] },
        // An earlier client reads url and events, and sends both back.
        { url: dingtalk?.url, events: dingtalk?.events },
        ...others.map(({ id }) => ({ id })),
      ],
    });
    const after = await targetsNow();
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect(after[2]).toEqual(dingtalk as Target);
    for (const { id } of after)
      expect(await server.admin.expect(200, "POST", `${project()}/notify/${id}/test`)).toMatchObject({
        delivered: true,
        fault: "",
      });
    expect(discord?.format).toBe(after[1]?.format as string);
    expect(services.problems).toEqual([]);
  });

  test.each([
    [{ format: "slack" }, "notify.0.url", "is required"],
    [{ id: "unknown", url: "https://a.example/hooks/x" }, "notify.0.id", "names no target"],
    [{ url: "https://a.example/…abcd" }, "notify.0.url", "send the whole address"],
    [{ url: "https://a.example/x", format: "telegram" }, "notify.0.url", "sendMessage?chat_id="],
    [{ url: "https://a.example/x", format: "wecom", secret: "x" }, "notify.0.secret", "no signing secret"],
    [{ url: "https://a.example/x", format: "teams" }, "notify.0.format", ""],
    [{ url: "https://a.example/x", events: ["task.gone"] }, "notify.0.events.0", ""],
  ])("is refused with a reason: %j", async (target, field, reason) => {
    const answer = await server.admin.request("PATCH", project(), { notify: [target] });
    expect(answer.status).toBe(422);
    const { fields } = (answer.body as { error: { fields: { field: string; message: string }[] } }).error;
    expect(fields[0]?.field).toBe(field);
    expect(fields[0]?.message).toContain(reason);
  });
});

describe("an attempt", () => {
  test("that a service answers with status 200 and an error is not delivered, and is kept for managers without the address", async () => {
    const made: Target[] = [];
    for (const format of ["dingtalk", "feishu", "wecom", "telegram"] as const) {
      const url = services
        .addressOf(format)
        .replace("key=693a91f6", "key=another0")
        .replace("chat_id=-100", "chat_id=-999");
      const secret = "secret" in chatServices[format] ? { secret: "a wrong secret" } : {};
      const body = {
        name: `wrong ${format}`,
        git: { url: repository.url },
        notify: [{ format, url, ...secret }],
      };
      const created = await server.admin.expect<{ id: number; notify: Target[] }>(
        201,
        "POST",
        "/api/projects",
        body,
      );
      const [target] = created.notify;
      made.push(target as Target);
      const path = `/api/projects/${created.id}`;
      const result = await server.admin.expect<Attempt>(200, "POST", `${path}/notify/${target?.id}/test`);
      expect(result).toMatchObject({ delivered: false, status: format === "telegram" ? 400 : 200 });
      expect(result.fault).not.toBe("");
      expect(result.response.length).toBeLessThanOrEqual(200);
      const list = await server.admin.expect<{ items: Attempt[] }>(
        200,
        "GET",
        `${path}/notification-attempts`,
      );
      expect(list.items[0]).toMatchObject({ event: "test", targetId: target?.id, delivered: false });
    }
    expect(services.problems.splice(0)).toHaveLength(4);
  });

  test("does not show an address that the receiver repeats", async () => {
    const echo = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request) => new Response(`you called ${request.url} ${"x".repeat(500)}`, { status: 500 }),
    });
    const url = `${echo.url.href}hooks/T0PSECRETT0KEN?key=an0thersecret`;
    const body = { name: "echo", git: { url: repository.url }, notify: [{ url }] };
    const created = await server.admin.expect<{ id: number; notify: Target[] }>(
      201,
      "POST",
      "/api/projects",
      body,
    );
    const path = `/api/projects/${created.id}/notify/${created.notify[0]?.id}/test`;
    const result = await server.admin.expect<Attempt>(200, "POST", path);
    expect(result).toMatchObject({ delivered: false, status: 500, fault: "status 500" });
    expect(result).toMatchObject({ faultParts: [{ code: "notify_status", values: { status: "500" } }] });
    expect(result.response).toStartWith("you called •••");
    expect(JSON.stringify(result)).not.toMatch(/T0PSECRET|an0ther/);
    expect(result.response).toHaveLength(200);
    echo.stop(true);
  });

  test("of a delivered message is listed, at most 50 for a project", async () => {
    const [, discord] = targets;
    await eventually("attempts are listed", async () =>
      (await attempts()).some(({ event }) => event === "task.failed"),
    );
    const path = `${project()}/notify/${discord?.id}/test`;
    let refused = 0;
    for (let index = 0; index < 15; index++)
      if ((await server.admin.request("POST", path)).status === 429) refused += 1;
    expect(refused).toBeGreaterThan(0);
    expect((await attempts()).length).toBeLessThanOrEqual(50);
  });
});

describe("a rejected delivery", () => {
  test("is reported to targets that name the event, once in a while", async () => {
    const before = services.taken.discord.length;
    const notify = (await targetsNow()).map(({ id }) => ({ id, events: ["delivery.rejected"] }));
    await server.admin.expect(200, "PATCH", project(), { notify });
    for (let index = 0; index < 5; index++) {
      const headers = {
        "x-gitea-event": "push",
        "x-gitea-signature": "00",
        "content-type": "application/json",
      };
      await fetch(hookUrl, { method: "POST", headers, body: JSON.stringify({ ref: "refs/heads/main" }) });
    }
    for (const name of names) {
      const { literal, links } = await services.message(name, "was rejected");
      expect(literal).toContain("signature");
      expect(links[0]).toStartWith(`${server.url}/deliveries/`);
    }
    expect(services.taken.discord.length).toBe(before + 1);
    expect(services.problems).toEqual([]);
  });
});
