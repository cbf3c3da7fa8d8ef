/**
 * Load generator: sends signed GitHub pushes over keep-alive connections, as fast as they are answered or at a steady rate.
 * Runs as a separate process that gets its orders by IPC.
 */
import { createHmac } from "node:crypto";
import type { DeliveryOrder, DeliveryResult } from "../delivery-load.ts";

const commitsPerPush = 3;

/** A push of 7 to 8 KB as GitHub sends it: three commits, a whole repository object, sender and pusher. */
function pushBody(index: number): Buffer {
  const sha = (seed: number) => seed.toString(16).padStart(8, "0").repeat(5);
  const person = { name: "Ann Arbor", email: "ann@example.com", username: "ann" };
  const commit = (at: number) => ({
    id: sha(index * commitsPerPush + at),
    tree_id: sha(index + at + 7),
    distinct: true,
    message: `Change number ${index}.${at}\n\nA body that says why, as commits of careful people have one.`,
    timestamp: "2026-01-31T09:30:00+01:00",
    url: `https://github.com/example/shop/commit/${sha(index + at)}`,
    author: person,
    committer: person,
    added: [`src/added-${at}.ts`],
    removed: [],
    modified: ["README.md", `src/module-${index % 17}/index.ts`],
  });
  const addresses = (of: string, count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, at) => [
        `some_${at}_url`,
        `https://api.github.com/${of}/things-${at}{/number}`,
      ]),
    );
  const commits = Array.from({ length: commitsPerPush }, (_, at) => commit(at));
  return Buffer.from(
    JSON.stringify({
      ref: "refs/heads/main",
      before: sha(index + 1),
      after: commits.at(-1)?.id,
      repository: {
        id: 1,
        full_name: "example/shop",
        default_branch: "main",
        ...addresses("repos/example/shop", 46),
      },
      pusher: { name: "ann", email: "ann@example.com" },
      sender: { login: "ann", id: 2, type: "User", ...addresses("users/ann", 13) },
      created: false,
      deleted: false,
      forced: false,
      base_ref: null,
      compare: "https://github.com/example/shop/compare/a...b",
      commits,
      head_commit: commits.at(-1),
    }),
  );
}

function requestOf(order: DeliveryOrder, index: number): Buffer {
  const target = order.targets[index % order.targets.length] ?? { path: "/", secret: "" };
  const body = pushBody(index);
  const signature = createHmac("sha256", target.secret).update(body).digest("hex");
  const head = [
    `POST ${target.path} HTTP/1.1`,
    `Host: ${new URL(order.url).host}`,
    "Content-Type: application/json",
    "User-Agent: GitHub-Hookshot/bench",
    "X-GitHub-Event: push",
    `X-GitHub-Delivery: ${crypto.randomUUID()}`,
    `X-Hub-Signature-256: sha256=${signature}`,
    `Content-Length: ${body.byteLength}`,
  ].join("\r\n");
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), body]);
}

interface Line {
  send(request: Buffer): Promise<number>;
  end(): void;
}

/** One keep-alive connection with one request at a time; resolves to the status. */
async function openLine(url: URL): Promise<Line> {
  let answered: ((status: number) => void) | null = null;
  let text = "";
  let unsent: Uint8Array = new Uint8Array(0);
  const socket = await Bun.connect({
    hostname: url.hostname,
    port: Number(url.port),
    socket: {
      data(_socket, chunk) {
        text += chunk.toString("latin1");
        const headEnd = text.indexOf("\r\n\r\n");
        if (headEnd < 0) return;
        const head = text.slice(0, headEnd);
        const length = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? Number.NaN);
        const isWhole = Number.isNaN(length)
          ? text.endsWith("0\r\n\r\n")
          : text.length >= headEnd + 4 + length;
        if (!isWhole) return;
        text = "";
        answered?.(Number(head.slice(9, 12)));
      },
      drain(opened) {
        if (unsent.byteLength > 0) unsent = unsent.subarray(opened.write(unsent));
      },
      close: () => answered?.(0),
      error: () => answered?.(0),
    },
  });
  return {
    send: (request) =>
      new Promise((resolve) => {
        answered = resolve;
        unsent = request.subarray(socket.write(request));
      }),
    end: () => void socket.end(),
  };
}

function emptyResult(): DeliveryResult {
  return { answered: 0, failed: 0, seconds: 0, latenciesMs: [], statuses: {} };
}

async function run(order: DeliveryOrder): Promise<DeliveryResult> {
  const requests = Array.from({ length: order.requests }, (_, index) => requestOf(order, order.from + index));
  const lines = await Promise.all(Array.from({ length: order.atOnce }, () => openLine(new URL(order.url))));
  const result = emptyResult();
  const send = async (line: Line, request: Buffer, dueAtMs: number) => {
    const status = await line.send(request);
    result.latenciesMs.push(performance.now() - dueAtMs);
    result.statuses[status] = (result.statuses[status] ?? 0) + 1;
    if (status === order.expectedStatus) result.answered++;
    else result.failed++;
  };
  const startedAt = performance.now();
  if (order.perSecond === 0) {
    let next = 0;
    await Promise.all(
      lines.map(async (line) => {
        for (let request = requests[next++]; request; request = requests[next++])
          await send(line, request, performance.now());
      }),
    );
  } else await atRate(lines, requests, order.perSecond, send);
  result.seconds = (performance.now() - startedAt) / 1000;
  for (const line of lines) line.end();
  return result;
}

/** Latency counts from when a request was due, so that a stall is not hidden by requests that were sent late. */
async function atRate(
  lines: Line[],
  requests: Buffer[],
  perSecond: number,
  send: (line: Line, request: Buffer, dueAtMs: number) => Promise<void>,
): Promise<void> {
  const free = [...lines];
  const startedAt = performance.now();
  const pending: Promise<void>[] = [];
  for (const [index, request] of requests.entries()) {
    const dueAt = startedAt + (index * 1000) / perSecond;
    while (performance.now() < dueAt || free.length === 0) await Bun.sleep(1);
    const line = free.shift();
    if (!line) continue;
    pending.push(send(line, request, dueAt).finally(() => free.push(line)));
  }
  await Promise.all(pending);
}

process.on("message", async (order: DeliveryOrder) => {
  try {
    process.send?.(await run(order));
  } catch (error) {
    process.send?.({ ...emptyResult(), error: String(error) });
  }
});
