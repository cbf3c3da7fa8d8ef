import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { hostKinds } from "../../src/git-host/hosts.ts";
import { parseJson } from "../../src/json.ts";
import { chatAnswerFault } from "../../src/task/notify/chat-request.ts";
import { setUpApi } from "../support/api-setup.ts";
import { eventually } from "../support/eventually.ts";
import { type ServerProcess, startServerProcess } from "../support/server-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const levels = 2_000_000;
const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** A Git host that answers every request in this way. */
function hostWhere(answer: () => Response | Promise<Response>): string {
  const host = Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: answer });
  stops.push(() => host.stop(true));
  return host.url.origin;
}

describe("an error answer that is nested two million levels deep", () => {
  const dataDir = temporaryFolder("hostile");
  let server: ServerProcess;
  beforeAll(async () => {
    server = await startServerProcess(dataDir, { "runner-enabled": "false" });
  });
  afterAll(() => server.end("SIGTERM"));

  const residentMB = () =>
    Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1]) / 1024;

  /** The longest answer of /livez, and the memory taken, while `work` runs. */
  async function costOf(work: () => Promise<unknown>): Promise<{ longestMs: number; grownMB: number }> {
    const before = residentMB();
    let [longestMs, grownMB, isDone] = [0, 0, false];
    const watch = (async () => {
      while (!isDone) {
        const startedAt = performance.now();
        await (await fetch(`${server.url}/livez`)).text();
        longestMs = Math.max(longestMs, performance.now() - startedAt);
        grownMB = Math.max(grownMB, residentMB() - before);
        // The measure leaves the server most of the time.
        await Bun.sleep(5);
      }
    })();
    await work();
    isDone = true;
    await watch;
    return { longestMs, grownMB };
  }

  test.each(hostKinds)("as a host of the kind %s: other callers do not wait", async (kind) => {
    const url = hostWhere(() => new Response(`{"message":${nested(levels)}}`, { status: 422 }));
    const saves = () =>
      Promise.all(
        [1, 2, 3].map(async (number) => {
          const body = { kind, url, token: `a token of ann ${number}` };
          const { status } = await server.admin.request("POST", "/api/host-tokens", body);
          expect(status).toBe(409);
        }),
      );
    const { longestMs, grownMB } = await costOf(saves);
    // It was 5 s; a busy machine alone delays an answer by some hundred milliseconds.
    expect(longestMs).toBeLessThan(2_000);
    expect(grownMB).toBeLessThan(200);
  });
});

test("text of others is parsed to 100 levels, brackets in texts do not count", () => {
  expect(parseJson(nested(100))).toBeArray();
  expect(parseJson(nested(101))).toBeUndefined();
  const text = { a: `${"[".repeat(500)}"\\${"{".repeat(500)}`, b: Array.from({ length: 500 }, () => ({})) };
  expect(parseJson(JSON.stringify(text))).toEqual(text);
});

test.each([nested(50), '{"toString":1,"valueOf":1}', "null"])(
  "a chat service that answers with the code %s has not confirmed the message",
  (code) => {
    const answer = { status: 200, body: `{"errcode":${code}}` };
    expect(chatAnswerFault("dingtalk", answer)).toMatchObject({ values: { format: "dingtalk" } });
  },
);

describe("a host that never answers", async () => {
  const server = await setUpApi({
    "tasks.allowInternalNotifications": true,
    "tasks.allowLocalRepositories": true,
  });

  test("keeps few calls of one user, and none of others", async () => {
    let waiting = 0;
    const isOver = Promise.withResolvers<void>();
    const url = hostWhere(async () => {
      waiting++;
      await isOver.promise;
      return new Response("", { status: 500 });
    });
    const { client: ann } = await server.newUser("ann", "admin");
    const { client: ben } = await server.newUser("ben", "admin");
    const save = (client: typeof ann) =>
      client.request("POST", "/api/host-tokens", { kind: "gitea", url, token: "a token" });
    const kept = [1, 2, 3].map(() => save(ann));
    await eventually("three wait", () => waiting === 3);
    const refused = await save(ann);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    const inspected = await ann.request("POST", "/api/repositories/inspect", { url: `${url}/a.git` });
    expect(inspected.status).toBe(429);
    const other = save(ben);
    await eventually("the other user is served", () => waiting === 4);
    isOver.resolve();
    for (const { status } of await Promise.all([...kept, other])) expect(status).toBe(503);
    expect((await save(ann)).status).toBe(503);
  });

  test("120 calls of one user a minute are allowed", async () => {
    const url = hostWhere(() => new Response("{}", { status: 401 }));
    const { client } = await server.newUser("cara", "admin");
    const statuses: number[] = [];
    for (let count = 0; count < 121; count++) {
      const body = { kind: "gitea", url, token: "a token" };
      statuses.push((await client.request("POST", "/api/host-tokens", body)).status);
    }
    expect(statuses.slice(0, 120)).toEqual(Array.from({ length: 120 }, () => 409));
    expect(statuses.at(-1)).toBe(429);
  });
});
