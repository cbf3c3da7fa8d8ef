import { Database as SqliteFile } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../../src/errors.ts";
import { type OperationKeepers, operation, type Store } from "../../src/model/store.ts";
import { availableDatabases, openTestStore } from "../support/databases.ts";
import { eventually } from "../support/eventually.ts";
import { failureOf } from "../support/failure.ts";
import { pick } from "../support/length.ts";
import { startPostgres } from "../support/postgres.ts";
import { sampleProject } from "../support/samples.ts";
import type { RunningService } from "../support/service-process.ts";
import { serviceUrl } from "../support/services.ts";
import { makeSyncedFiles, type SyncedFiles } from "../support/synced-files.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { type Acknowledged, writeBurst } from "../support/write-burst.ts";

const kills = pick(2, 10);
const writesBeforeKill = pick(300, 2_000);
const burst = join(import.meta.dir, "../support/write-burst.ts");

/** Every pair is there, whole: the delivery names its task. */
async function expectAllThere(store: Store, pairs: Acknowledged[]): Promise<void> {
  for (const { deliveryId, taskId } of pairs) {
    expect(await store.deliveries.byId(deliveryId)).toMatchObject({ task_id: taskId });
    expect(await store.tasks.byId(taskId)).not.toBeNull();
  }
}

/** No delivery without its task, acknowledged or not. */
async function expectNoHalves(store: Store): Promise<void> {
  for (const delivery of await store.deliveries.latest({}, 200))
    expect(await store.tasks.byId(delivery.task_id)).not.toBeNull();
}

/** A process that writes until it is killed with -9. */
function startBurst(url: string, env: Record<string, string> = {}) {
  const child = Bun.spawn([process.execPath, burst, url], {
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, ...env },
  });
  const collect = async (stream: ReadableStream<Uint8Array>, lines: string[]) => {
    for await (const line of linesOf(stream)) lines.push(line);
  };
  const [acknowledged, refused]: [string[], string[]] = [[], []];
  const ended = Promise.all([collect(child.stdout, acknowledged), collect(child.stderr, refused)]);
  return {
    refused,
    acknowledge: (count: number) => {
      const goal = acknowledged.length + count;
      return eventually(
        "enough is acknowledged",
        () => acknowledged.length >= goal || child.exitCode !== null,
      );
    },
    async kill(): Promise<Acknowledged[]> {
      child.kill("SIGKILL");
      await ended;
      await child.exited;
      expect(child.signalCode).toBe("SIGKILL");
      return acknowledged.map((line) => {
        const [deliveryId = 0, taskId = 0] = line.split(" ").map(Number);
        return { deliveryId, taskId };
      });
    },
  };
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of stream) {
    const lines = (text + decoder.decode(piece, { stream: true })).split("\n");
    text = lines.pop() ?? "";
    yield* lines;
  }
}

describe.each(await availableDatabases())(
  "a process killed with -9 while it writes to $name",
  ({ name, make }) => {
    test(
      "leaves no damage, every acknowledged row and no half transaction",
      async () => {
        const database = await make();
        const acknowledged: Acknowledged[] = [];
        for (let kill = 0; kill < kills; kill++) {
          const writing = startBurst(database.url);
          await writing.acknowledge(writesBeforeKill);
          acknowledged.push(...(await writing.kill()));
          expect(writing.refused).toEqual([]);
        }
        const store = await database.open();
        expect(acknowledged.length).toBeGreaterThanOrEqual(kills * writesBeforeKill);
        await expectAllThere(store, acknowledged);
        await expectNoHalves(store);
        if (name === "SQLite") expect(integrityOf(database.url)).toBe("ok");
        await database.remove();
      },
      pick(240_000, 600_000),
    );
  },
);

describe("a power loss, which leaves of SQLite's files what was synced,", () => {
  const start = async () => {
    const synced = await makeSyncedFiles();
    const url = `sqlite:${join(temporaryFolder("power-loss"), "slipway.db")}`;
    return { synced, writing: startBurst(url, synced.env) };
  };
  async function expectSynced({ folder }: SyncedFiles, acknowledged: Acknowledged[]): Promise<void> {
    const url = `sqlite:${join(folder, "slipway.db")}`;
    const store = await openTestStore(url);
    await expectAllThere(store, acknowledged);
    await expectNoHalves(store);
    await store.close();
    expect(integrityOf(url)).toBe("ok");
  }

  test("leaves no damage, every acknowledged row and no half transaction", async () => {
    const { synced, writing } = await start();
    await writing.acknowledge(writesBeforeKill);
    const acknowledged = await writing.kill();
    expect(acknowledged.length).toBeGreaterThanOrEqual(writesBeforeKill);
    await expectSynced(synced, acknowledged);
  });

  test("also after syncs failed: what was to be written with them was refused, and later writes are synced", async () => {
    const { synced, writing } = await start();
    await writing.acknowledge(writesBeforeKill);
    synced.setFailing(true);
    await eventually("a write is refused", () => writing.refused.length > 0);
    expect(writing.refused[0]).toContain("The database cannot be written");
    synced.setFailing(false);
    await writing.acknowledge(writesBeforeKill);
    const acknowledged = await writing.kill();
    expect(acknowledged.length).toBeGreaterThanOrEqual(2 * writesBeforeKill);
    await expectSynced(synced, acknowledged);
  });
});

function integrityOf(url: string): unknown {
  const file = new SqliteFile(url.slice("sqlite:".length), { readonly: true });
  const row = file.prepare("pragma integrity_check").get() as { integrity_check: string };
  file.close();
  return row.integrity_check;
}

describe.skipIf((await serviceUrl("postgres")) === undefined)(
  "a PostgreSQL killed with -9 while it is written to",
  () => {
    let server: RunningService;
    let store: Store;
    let projectId: number;
    beforeAll(async () => {
      server = await startPostgres();
      store = await openTestStore(server.url);
      projectId = (await store.projects.create(sampleProject())).id;
    });
    afterAll(async () => {
      await store.close();
      await server.stop();
    });

    test(
      "keeps every acknowledged row; writes meanwhile are refused soon, and the store comes back by itself",
      async () => {
        const acknowledged: Acknowledged[] = [];
        const refusals: unknown[] = [];
        let isOver = false;
        const writing = writeBurst(
          store,
          projectId,
          () => isOver,
          (pair) => void acknowledged.push(pair),
          (error) => void refusals.push(error),
        );
        for (let kill = 0; kill < kills; kill++) {
          const goal = acknowledged.length + writesBeforeKill;
          await eventually("enough is acknowledged", () => acknowledged.length >= goal);
          const refusedBefore = refusals.length;
          await server.kill();
          await eventually("writes are refused", () => refusals.length > refusedBefore);
          // A connection of its own may live a moment longer than its server.
          await eventually("the store fails", async () => (await failureOf(store.check())) instanceof Fault);
          await server.restart();
        }
        const goal = acknowledged.length + writesBeforeKill;
        await eventually("enough is acknowledged", () => acknowledged.length >= goal);
        isOver = true;
        await writing;
        for (const refusal of refusals) expect(refusal).toBeInstanceOf(Fault);
        await expectAllThere(store, acknowledged);
        await expectNoHalves(store);
      },
      pick(120_000, 600_000),
    );

    /** On PostgreSQL operations run in this process, so that a test can hold them open. */
    const inside = <T>(work: (keepers: OperationKeepers) => Promise<T>) =>
      operation("test", (keepers: OperationKeepers) => work(keepers));
    const lockOf = (name: string, waitMs = 1_000) => ({ name, waitMs });

    test("the first operation, with a lock or without, after the server is back is done", async () => {
      const held = inside(async () => "held");
      expect(await store.run(held, null, lockOf("before"))).toBe("held");
      await server.restart();
      expect(await store.run(held, null, lockOf("after"))).toBe("held");
      expect(
        await store.run(
          inside(({ users }) => users.count()),
          null,
        ),
      ).toBe(0);
    });

    test("work whose connection is lost is undone, and the next holder of its lock does not find it", async () => {
      const [holder, next] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const first = inside(async ({ meta }) => {
        await meta.set("who", "the first holder");
        holder.resolve();
        await next.promise;
      });
      const broken = failureOf(store.run(first, null, lockOf("shared")));
      await holder.promise;
      await server.restart();
      const other = await openTestStore(server.url);
      const second = inside(({ meta }) => meta.get("who"));
      expect(await other.run(second, null, lockOf("shared", 5_000))).toBeNull();
      next.resolve();
      expect(await broken).toMatchObject({ code: "unavailable" });
      expect(await store.meta.get("who")).toBeNull();
      await other.close();
    });

    test("a server that is silent for some seconds takes no lock from its holder", async () => {
      const other = await openTestStore(server.url);
      const [taken, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const keeping = inside(async ({ meta }) => {
        taken.resolve();
        await done.promise;
        await meta.set("kept", "yes");
      });
      const held = store.run(keeping, null, lockOf("kept"));
      await taken.promise;
      for (const pid of backendsOf(server.pid)) process.kill(pid, "SIGSTOP");
      const nothing = inside(async () => {});
      const asked = [1, 2, 3].map((each) =>
        store.run(nothing, null, lockOf(`other ${each}`)).catch((error: unknown) => error),
      );
      // The server is silent until they are answered, or for some seconds.
      await Promise.race([Promise.all(asked), Bun.sleep(4_000)]);
      for (const pid of backendsOf(server.pid)) process.kill(pid, "SIGCONT");
      await Promise.all(asked);
      expect(
        await other.run(
          inside(async () => "had it too"),
          null,
          lockOf("kept", 300),
        ),
      ).toBe("timeout");
      done.resolve();
      await held;
      const reading = inside(({ meta }) => meta.get("kept"));
      expect(await other.run(reading, null, lockOf("kept", 3_000))).toBe("yes");
      await other.close();
    });

    test("a server that does not answer is reported within seconds", async () => {
      server.pause();
      try {
        const startedAt = performance.now();
        const fresh = openTestStore(server.url);
        expect(await failureOf(fresh)).toMatchObject({ code: "unavailable" });
        expect(performance.now() - startedAt).toBeLessThan(20_000);
      } finally {
        server.resume();
      }
    });
  },
);

/** The server and the processes of its connections. */
function backendsOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return [...children.split(" ").filter(Boolean).map(Number), pid];
}
