import { afterAll, expect, test } from "bun:test";
import { buildCli } from "../support/cli.ts";

const esc = "\u001b";
/** Renames the window, clears the screen in two ways, moves back, reverses the text after it, and hides text. */
const hostile = `${esc}]0;owned\u0007${esc}[2J\u009b2J\u0008\u202egnp.exe\u202c\u2066\u200e\u2028\u200b\u{e0041}\rdone`;
/** What a terminal would interpret. Line ends and colours are checked separately. */
const obeyed = /[\p{Cc}\p{Bidi_Control}\u2028\u200b\u{e0041}]/u;

const colours = new RegExp(`${esc}\\[(0|1;31|38;5;8|30;40)m`, "g");

const step = { name: hostile, state: "failed", startedAt: null, finishedAt: null, exitCode: 1 };
const stage = { ...step, name: "build", steps: [step] };
const task = {
  id: 1,
  projectId: 1,
  state: "failed",
  ref: `refs/heads/${hostile}`,
  commit: "a".repeat(40),
  message: hostile,
  triggeredBy: hostile,
  createdAt: "2026-01-31T09:30:00.000Z",
  reason: hostile,
  stages: [stage],
};
const delivery = {
  replays: [{ id: 2, status: hostile }],
  id: 1,
  created_at: task.createdAt,
  project_name: hostile,
  event: hostile,
  ref: hostile,
  commit: hostile,
  commit_message: hostile,
  author: hostile,
  status: "ignored",
  code: "other",
  reason: hostile,
  trace: [{ step: "branch", result: "stop", value: hostile, pattern: hostile, detail: hostile }],
};
const list = (item: object) => ({ items: [item], total: 1, page: 1, pageSize: 20 });
const lines = [
  { index: 0, stage: "checkout", step: null, at: task.createdAt, text: `HEAD is now at 1f2e3d ${hostile}` },
  {
    index: 1,
    stage: "build",
    step: "build",
    at: task.createdAt,
    text: `${esc}[1;31mFAIL${esc}[0m ${esc}[38;5;8mgrey\t!`,
  },
  { index: 2, stage: "build", step: "build", at: task.createdAt, text: `${esc}[0;8mhidden${esc}[30;40m` },
];
const answers: Record<string, object> = {
  "GET /api/tasks": list(task),
  "GET /api/tasks/1": task,
  "GET /api/tasks/1/log": { lines, next: 3, done: true },
  "GET /api/tasks/2/log": { lines: [], next: 0, done: true },
  "POST /api/tasks/1/cancel": { ...task, state: hostile },
  "POST /api/projects/1/rollback": { ...task, rollbackTo: 1 },
  "GET /api/projects/1/releases/1/settings": {
    items: [{ setting: hostile, release: hostile, project: hostile }],
  },
  "GET /api/webhooks/deliveries": list(delivery),
  "GET /api/webhooks/deliveries/1": delivery,
  "POST /api/webhooks/deliveries/replay": {
    items: [{ delivery, response: null, problem: hostile }],
    message: hostile,
    next: null,
  },
  "POST /api/projects/1/webhook/test": { decision: { status: "ignored", code: "x", reason: hostile } },
  "GET /api/projects": list({ id: 1, name: hostile, git: { url: hostile, ref: hostile }, liveTaskId: null }),
  "GET /api/users": list({ id: 1, username: hostile, role: "admin", disabled: false }),
  "GET /api/tokens": list({ id: 1, name: hostile, hint: hostile, scopes: [hostile] }),
  "GET /feign/getOnlineUsers": { data: [hostile] },
  "GET /feign/messages": {
    data: {
      messages: [{ id: hostile, publishedAt: hostile, targetType: hostile, why: hostile, instances: [] }],
      connectedLike: [hostile],
      addressedLike: [hostile],
      since: null,
      missing: [hostile],
    },
  },
};
/** Answers like a server with untrusted data. */
const server = Bun.serve({
  port: 0,
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    const answer = answers[`${request.method} ${pathname}`];
    if (answer === undefined)
      return Response.json({ error: { code: "conflict", message: hostile } }, { status: 409 });
    if (pathname.endsWith("/log") && searchParams.get("from") === "3")
      return Response.json({ lines: [], next: 3, done: true });
    return Response.json(answer);
  },
});
afterAll(() => server.stop(true));

const slipway = buildCli({ SLIPWAY_URL: server.url.origin, SLIPWAY_TOKEN: "slp_x" });

const commands = [
  ["task", "list"],
  ["task", "show", "1"],
  ["task", "cancel", "1"],
  ["task", "rerun", "1"],
  ["hook", "list"],
  ["hook", "show", "1"],
  ["hook", "test", "1"],
  ["hook", "replay", "1"],
  ["hook", "replay", "--status", "ignored"],
  ["project", "list"],
  ["project", "rollback", "1"],
  ["user", "list"],
  ["token", "list"],
  ["online"],
  ["push", "trace", "42"],
  ["logs", "1"],
  ["logs", "1", "--follow"],
];

for (const command of commands) {
  test(`slipway ${command.join(" ")} sends nothing of a stranger's text to the terminal as a command`, async () => {
    const { stdout, stderr } = await slipway(command);
    const printed = (stdout + stderr).replaceAll("\n", "");
    const withoutColours = printed.replaceAll(colours, "").replaceAll("\t", "");
    expect(withoutColours).not.toMatch(obeyed);
    expect(printed).toContain("\\u202egnp.exe");
    const { stdout: json } = await slipway([...command, "--json"]);
    expect(json.replaceAll("\n", "")).not.toMatch(obeyed);
  });
}

test("--json prints the same text, escaped for the terminal", async () => {
  expect((await slipway(["task", "show", "1", "--json"])).json()).toEqual(task);
});

test("colours of a log stay, end with their line, and cannot hide text", async () => {
  const { stdout } = await slipway(["logs", "1"]);
  const [, coloured, hidden] = stdout.split("\n");
  expect(coloured).toBe(`build    ${esc}[1;31mFAIL${esc}[0m ${esc}[38;5;8mgrey\t!${esc}[0m`);
  expect(hidden).toBe(`build    \\x1b[0;8mhidden${esc}[30;40m${esc}[0m`);
});
