import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { RunTask } from "../../src/runner/protocol.ts";
import { eventually } from "../support/eventually.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import {
  type Caller,
  callerWith,
  copyInstallation,
  type Installation,
  type RunningServer,
  readRecorded,
  recordedDatabases,
  recordedRunner,
  startOn,
} from "./recording.ts";

/** One call of the recorded runner and its answer. */
interface RecordedCall {
  path: string;
  headers: Record<string, string>;
  body: Record<string, unknown>;
  status: number;
  answer: Record<string, unknown> | null;
}

const calls = readRecorded<RecordedCall[]>("runner-calls.json");

describe.each(await recordedDatabases())("the recorded runner on %s", (name) => {
  let installation: Installation;
  let server: RunningServer;
  let admin: Caller;
  let repository: GitRepository;
  beforeAll(async () => {
    installation = await copyInstallation(name);
    server = await startOn(installation);
    admin = callerWith(server.url, installation.facts.sessions.admin);
    repository = await makeRepository();
    await repository.push({ "README.md": "today\n" });
    // The project's own task must be the first in the queue. Held tasks return to it when their lease ends.
    for (const task of ["queued", "queuedLabelled", "dispatched", "running"])
      await admin("POST", `/api/tasks/${installation.facts.tasks[task]}/cancel`);
    await admin("PATCH", `/api/projects/${installation.facts.ids.real}`, { git: { url: repository.url } });
  });
  afterAll(async () => {
    await server?.stop();
    await installation?.remove();
  });
  const newTask = async () =>
    (await admin<{ id: number }>("POST", `/api/projects/${installation.facts.ids.real}/tasks`, {})).id;

  test("makes the recorded calls and gets responses that it understands", async () => {
    const taskId = await newTask();
    let held: Pick<RunTask, "attempt" | "lease"> | null = null;
    for (const call of calls) {
      const body = "taskId" in call.body ? { ...call.body, taskId, ...held } : call.body;
      const response = await fetch(server.url + call.path, {
        method: "POST",
        headers: { ...call.headers, authorization: `Bearer ${installation.facts.runnerTokens.free}` },
        body: JSON.stringify(body),
      });
      const answer = (await response.json()) as Record<string, unknown>;
      expect({ path: call.path, status: response.status, answer }).toMatchObject({
        path: call.path,
        status: call.status,
      });
      if (call.path === "/api/runner/claim") {
        expect(answer).toMatchObject({ type: "run_task", taskId });
        expect(Object.keys(answer)).toEqual(expect.arrayContaining(Object.keys(call.answer ?? {})));
        held = { attempt: Number(answer.attempt), lease: String(answer.lease) };
      } else expect(answer).toMatchObject(call.answer ?? {});
    }
    expect(await admin("GET", `/api/tasks/${taskId}`)).toMatchObject({ state: "success" });
  });

  test("deploys with today's server", async () => {
    const folder = temporaryFolder("old-runner");
    const log = Bun.file(join(folder, "runner.log"));
    const taskId = await newTask();
    const child = Bun.spawn([process.execPath, recordedRunner, "runner", "--data-dir", folder], {
      env: {
        PATH: process.env.PATH ?? "",
        HOME: folder,
        SLIPWAY_RUNNER_SERVER: server.url,
        SLIPWAY_RUNNER_TOKEN: installation.facts.runnerTokens.free,
        SLIPWAY_TASKS_CONCURRENCY: "1",
      },
      stdin: "ignore",
      stdout: log,
      stderr: "inherit",
    });
    try {
      await eventually("the task has ended", async () => {
        if (child.exitCode !== null) throw new Error(`the runner ended: ${await log.text()}`);
        const { state } = await admin<{ state: string }>("GET", `/api/tasks/${taskId}`);
        return !["queued", "dispatched", "running"].includes(state);
      });
      expect(await admin("GET", `/api/tasks/${taskId}`)).toMatchObject({ state: "success" });
      const { lines } = await admin<{ lines: { text: string }[] }>("GET", `/api/tasks/${taskId}/log`);
      const texts = lines.map(({ text }) => text);
      expect(texts).toContain("building recorded");
      expect(texts).toContain("deployed to ***");
    } finally {
      child.kill("SIGKILL");
      await child.exited;
    }
  });
});
