import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { identityOf } from "../../src/runner/process/process-tree.ts";
import { eventually } from "../support/eventually.ts";
import { type GitRepository, makeRepository } from "../support/git-repository.ts";
import { callerWith, copyInstallation, recordedDatabases, recordedRunner, startOn } from "./recording.ts";

let repository: GitRepository;
const stops: (() => unknown)[] = [];
beforeAll(async () => {
  repository = await makeRepository();
  await repository.push({ "README.md": "today\n" });
});
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});
afterAll(() => repository.remove());

const readJson = <T>(file: string) => JSON.parse(readFileSync(file, "utf8")) as T;

/** Longer than a restart of the server on a busy machine, because the runner ends its task after three quarters of it. */
const lease = { SLIPWAY_TASKS_LEASE: "40s" };

/** How the server of version 0.1.0 ended before the upgrade. */
const endings = ["was killed", "was stopped"] as const;

describe.each(await recordedDatabases())(
  "the local runner of version 0.1.0 beside today's server on %s",
  (name) => {
    test.each(endings)("finishes its task after its server %s, once, and is replaced", async (ending) => {
      const installation = await copyInstallation(name);
      const { dataDir, facts } = installation;
      // Only the task of this test has a lease.
      await installation.query(
        "update tasks set state = 'lost', lease_hash = null, lease_until = null where lease_hash is not null",
      );
      const folder = mkdtempSync(join(tmpdir(), "slipway-old-local-"));
      stops.push(
        () => installation.remove(),
        () => rmSync(folder, { recursive: true, force: true }),
      );
      const files = { address: join(dataDir, "runner/local.json"), pid: join(dataDir, "runner/local.pid") };
      const { token } = readJson<{ token: string }>(files.address);
      const [marks, goOn] = [join(folder, "marks"), join(folder, "go-on")];

      // In the place of the server of version 0.1.0: it speaks the same protocol and leaves the runner's files alone.
      const former = await startOn(installation, lease);
      stops.push(former.stop);
      let admin = callerWith(former.url, facts.sessions.admin);
      for (const task of ["queued", "queuedLabelled"])
        await admin("POST", `/api/tasks/${facts.tasks[task]}/cancel`);
      const project = async (title: string, script: string) =>
        (
          await admin<{ id: number }>("POST", "/api/projects", {
            name: title,
            git: { url: repository.url },
            stages: { build: { script } },
          })
        ).id;
      const held = await project(
        "held",
        `echo began >> ${marks}
      while [ ! -e ${goOn} ]; do echo tick; sleep 0.2; done
      echo ended >> ${marks}`,
      );
      const other = await project("other", "echo built");
      const run = async (id: number) =>
        (await admin<{ id: number }>("POST", `/api/projects/${id}/tasks`, {})).id;
      const stateOf = async (id: number) => (await admin<{ state: string }>("GET", `/api/tasks/${id}`)).state;
      const ticks = async (id: number) =>
        (await admin<{ lines: unknown[] }>("GET", `/api/tasks/${id}/log`)).lines.length;

      writeFileSync(files.address, JSON.stringify({ server: former.url, token }));
      const old = Bun.spawn(
        [process.execPath, recordedRunner, "runner", "--local", files.address, "--data-dir", dataDir],
        {
          cwd: dataDir,
          env: { PATH: process.env.PATH ?? "", HOME: dataDir },
          stdio: ["ignore", Bun.file(join(folder, "log")), "inherit"],
        },
      );
      stops.push(async () => {
        old.kill("SIGKILL");
        await old.exited;
      });
      writeFileSync(files.pid, JSON.stringify({ ...identityOf(old.pid), version: "0.1.0" }));
      const task = await run(held);
      await eventually("its script runs", () => existsSync(marks));

      await former.stop();
      if (ending === "was stopped") {
        // As on SIGTERM: the runner ends after its task, and its entry is removed from the file.
        rmSync(files.pid);
        old.kill("SIGTERM");
      }
      const server = await startOn(installation, { ...lease, SLIPWAY_RUNNER_ENABLED: "true" });
      stops.push(server.stop);
      admin = callerWith(server.url, facts.sessions.admin);
      const before = await ticks(task);
      await eventually("the new server hears of the task", async () => (await ticks(task)) > before + 2);
      await eventually(
        "another runner is in the file",
        () => readJson<{ pid: number }>(files.pid).pid !== old.pid,
      );
      const claim = await fetch(`${server.url}/api/runner/claim`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ labels: [], concurrency: 2, version: "0.1.0" }),
        signal: AbortSignal.timeout(20_000),
      });
      expect(claim.status).toBe(401);
      const beside = await run(other);
      await eventually("its successor works beside it", async () => (await stateOf(beside)) === "success");
      const leaseUntil = async () => {
        const [row] = await installation.query(`select lease_until from tasks where id = ${task}`);
        return Number(row?.lease_until);
      };
      const until = await leaseUntil();
      await eventually("its lease is renewed", async () => (await leaseUntil()) > until);
      expect(await stateOf(task)).toBe("running");

      writeFileSync(goOn, "");
      await eventually("the task has ended", async () => (await stateOf(task)) !== "running");
      expect(await admin("GET", `/api/tasks/${task}`)).toMatchObject({ state: "success", attempt: 1 });
      expect(readFileSync(marks, "utf8")).toBe("began\nended\n");
      await eventually("the old runner ends", () => old.exitCode !== null);
      await eventually(
        "its token is gone from the file",
        () => !readFileSync(files.address, "utf8").includes("slr_"),
      );
      const beat = await fetch(`${server.url}/api/runner/beat`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ taskId: task, attempt: 1, lease: "x" }),
      });
      expect(beat.status).toBe(401);
      const later = await run(other);
      await eventually("its successor works on", async () => (await stateOf(later)) === "success");
      const { items } = await admin<{ items: { local: boolean }[] }>("GET", "/api/runners");
      expect(items.filter(({ local }) => local)).toHaveLength(1);
    });
  },
);
