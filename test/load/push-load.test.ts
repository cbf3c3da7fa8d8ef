import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { pick } from "../support/length.ts";

const users = pick(2000, 15_000);
const generators = pick(2, 4);
const messagesEach = 3;

interface Report {
  open: number;
  closed: number;
  received: [number, string[]][];
}

class Generator {
  readonly #child: Bun.Subprocess;
  #answer: ((report: Report) => void) | null = null;

  constructor() {
    this.#child = Bun.spawn([process.execPath, join(import.meta.dir, "../support/push-clients-process.ts")], {
      stdout: "inherit",
      stderr: "inherit",
      ipc: (report) => this.#answer?.(report as Report),
    });
  }

  order(order: object): Promise<Report> {
    return new Promise((resolve) => {
      this.#answer = resolve;
      this.#child.send(order);
    });
  }

  async end(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.exited;
  }
}

let server: Bun.Subprocess<"ignore", "pipe", "inherit">;
let url: string;
let port: number;
const load: Generator[] = [];

beforeAll(async () => {
  // The server is a separate process, because each process may have 20,000 files open.
  server = Bun.spawn([process.execPath, join(import.meta.dir, "../support/push-server-process.ts")], {
    stdout: "pipe",
    stderr: "inherit",
  });
  for await (const chunk of server.stdout) {
    port = Number(new TextDecoder().decode(chunk));
    break;
  }
  url = `http://127.0.0.1:${port}`;
});

afterAll(async () => {
  for (const generator of load) await generator.end();
  server.kill("SIGKILL");
  await server.exited;
});

const publish = (body: object) =>
  fetch(`${url}/feign/publish`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

async function openConnections(): Promise<number> {
  const answer = (await (await fetch(`${url}/feign/connections`)).json()) as { data: { total: number } };
  return answer.data.total;
}

describe(`${users} connections from ${generators} processes and as many addresses`, () => {
  test("each user's messages reach exactly that user: expected and received reconciled by id, zero lost, zero doubled", async () => {
    const share = Math.ceil(users / generators);
    for (let index = 0; index < generators; index++) load.push(new Generator());
    const connected = await Promise.all(
      load.map((generator, index) => {
        const first = index * share;
        const count = Math.min(share, users - first);
        return generator.order({ connect: { port, localAddress: `127.0.0.${index + 2}`, first, count } });
      }),
    );
    expect(connected.reduce((sum, { open }) => sum + open, 0)).toBe(users);
    expect(await openConnections()).toBe(users);

    const expected = new Map<number, string[]>();
    let next = 0;
    const publisher = async () => {
      while (next < users * messagesEach) {
        const number = next++;
        const user = number % users;
        const data = `message ${number} for ${user}`;
        const answer = await publish({ targetType: "user", target: `user-${user}`, data });
        expect(answer.headers.get("x-push-receivers")).toBe("1");
        expected.set(user, [...(expected.get(user) ?? []), data]);
      }
    };
    await Promise.all(Array.from({ length: 16 }, publisher));
    const toAll = Array.from({ length: 5 }, (_, index) => `to all ${index}`);
    for (const data of toAll) await publish({ targetType: "all", data });

    const received = new Map<number, string[]>();
    await eventually(
      "everything has arrived",
      async () => {
        const reports = await Promise.all(load.map((generator) => generator.order({ report: true })));
        for (const { received: held } of reports) for (const [user, texts] of held) received.set(user, texts);
        const total = [...received.values()].reduce((sum, texts) => sum + texts.length, 0);
        return total >= users * (messagesEach + toAll.length);
      },
      120_000,
    );
    for (let user = 0; user < users; user++) {
      const held = received.get(user) ?? [];
      // Messages to one user are sent in order of acceptance, which three concurrent publishers do not know.
      expect(held.slice(0, messagesEach).toSorted()).toEqual((expected.get(user) ?? []).toSorted());
      expect(held.slice(messagesEach)).toEqual(toAll);
    }
    const reports = await Promise.all(load.map((generator) => generator.order({ report: false })));
    expect(reports.reduce((sum, { closed }) => sum + closed, 0)).toBe(0);
  }, 300_000);

  test("a mass disconnect frees every place, and newcomers get in meanwhile", async () => {
    for (const generator of load.splice(0)) await generator.end();
    const newcomer = new Generator();
    load.push(newcomer);
    const order = { port, localAddress: "127.0.0.99", first: 1_000_000, count: 10 };
    expect((await newcomer.order({ connect: order })).open).toBe(10);
    await eventually("only they are left", async () => (await openConnections()) === 10);
  });
});
