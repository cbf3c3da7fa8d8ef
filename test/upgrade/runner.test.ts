import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type RunTask, runnerFeatures } from "../../src/runner/protocol.ts";
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

  test("ends a task that it held before the upgrade with the recorded calls", async () => {
    const taskId = await newTask();
    let held: Pick<RunTask, "attempt" | "lease"> | null = null;
    for (const call of calls) {
      const body = "taskId" in call.body ? { ...call.body, taskId, ...held } : call.body;
      // Only a runner of today gets a task; what it does with the task is recorded.
      const features = "features" in call.body ? { features: runnerFeatures } : {};
      const response = await fetch(server.url + call.path, {
        method: "POST",
        headers: { ...call.headers, authorization: `Bearer ${installation.facts.runnerTokens.free}` },
        body: JSON.stringify({ ...body, ...features }),
      });
      const answer = (await response.json()) as Record<string, unknown>;
      expect({ path: call.path, status: response.status, answer }).toMatchObject({
        path: call.path,
        status: call.status,
      });
      if (call.path === "/api/runner/claim") {
        expect(answer).toMatchObject({ type: "run_task", taskId });
        held = { attempt: Number(answer.attempt), lease: String(answer.lease) };
      } else expect(answer).toMatchObject(call.answer ?? {});
    }
    expect(await admin("GET", `/api/tasks/${taskId}`)).toMatchObject({ state: "success" });
  });

  test("gets no task: it is refused with one sentence that says what to do", async () => {
    const folder = temporaryFolder("old-runner");
    const taskId = await newTask();
    const child = Bun.spawn([process.execPath, recordedRunner, "runner", "--data-dir", folder], {
      env: {
        PATH: process.env.PATH ?? "",
        HOME: folder,
        SLIPWAY_RUNNER_SERVER: server.url,
        SLIPWAY_RUNNER_TOKEN: installation.facts.runnerTokens.free,
        SLIPWAY_TASKS_CONCURRENCY: "1",
      },
      ...{ stdin: "ignore", stdout: "pipe", stderr: "pipe" },
    });
    let said = "";
    const collect = async (stream: ReadableStream<Uint8Array>) => {
      for await (const chunk of stream) said += Buffer.from(chunk).toString();
    };
    const collected = Promise.all([collect(child.stdout), collect(child.stderr)]);
    const refusal = /This runner, version [\d.]+, is too old for this server, version 2\.[\d.]+; update it\./;
    await eventually("the runner says why it gets no task", () => refusal.test(said));
    // It asks again after a tenth of a second.
    await Bun.sleep(1_000);
    expect(child.exitCode).not.toBe(0);
    child.kill("SIGKILL");
    await collected;
    expect(await admin("GET", `/api/tasks/${taskId}`)).toMatchObject({ state: "queued" });
  });
});
