import {
  type LoadConnection,
  type LoadCounts,
  type LoadRequest,
  numberOf,
  reconcile,
} from "./load-messages.ts";

/** Runs as a separate process: opens many raw WebSockets, records their messages, and compares on request. */
interface Open {
  connection: LoadConnection;
  numbers: number[];
}

const opened: Open[] = [];
const counts: LoadCounts = { open: 0, closed: 0, received: 0, resumed: 0, unrecovered: 0 };
/** Handshakes at a time; more would measure the accept queue of the kernel. */
const handshakesAtOnce = 100;

async function openOne(connection: LoadConnection): Promise<void> {
  if (connection.resumes) return openResuming(connection);
  const query = new URLSearchParams({ code: connection.userId, channel: connection.channel });
  if (connection.isTemporary) query.set("temp", "1");
  const socket = new WebSocket(`${connection.url.replace("http", "ws")}/ws?${query}`);
  const one: Open = { connection, numbers: [] };
  socket.onmessage = ({ data }) => {
    const number = numberOf(String(data));
    if (number === undefined) return;
    counts.received += 1;
    one.numbers.push(number);
  };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.onopen = () => {
    counts.open += 1;
    opened.push(one);
    resolve();
  };
  socket.onclose = () => {
    if (opened.includes(one)) {
      counts.open -= 1;
      counts.closed += 1;
    }
    reject(new Error(`${connection.url} refused ${connection.userId}`));
  };
  await promise;
}

/** Longest pause before a lost connection is opened again. */
const maxPauseMs = 300;

async function openResuming(connection: LoadConnection): Promise<void> {
  const one: Open = { connection, numbers: [] };
  let lastId: string | null = null;
  const { promise, resolve } = Promise.withResolvers<void>();
  const connect = () => {
    const query = new URLSearchParams({ code: connection.userId, channel: connection.channel });
    if (connection.isTemporary) query.set("temp", "1");
    if (lastId !== null) query.set("resume", lastId);
    const socket = new WebSocket(`${connection.url.replace("http", "ws")}/ws?${query}`, ["slipway.v1"]);
    let isOpen = false;
    socket.onmessage = ({ data }) => {
      const frame = JSON.parse(String(data)) as Record<string, unknown>;
      if (frame.type === "welcome") {
        isOpen = true;
        counts.open += 1;
        if (lastId === null) opened.push(one);
        else counts.resumed += 1;
        if (lastId !== null && frame.recovered !== true) counts.unrecovered += 1;
        lastId ??= String(frame.lastId);
        resolve();
      } else if (frame.type === "message") {
        lastId = String(frame.id);
        const number = numberOf(String(frame.data));
        if (number === undefined) return;
        counts.received += 1;
        one.numbers.push(number);
      }
    };
    socket.onclose = () => {
      if (isOpen) counts.open -= 1;
      if (isOpen) counts.closed += 1;
      setTimeout(connect, Math.random() * maxPauseMs);
    };
  };
  connect();
  await promise;
}

async function answer(request: LoadRequest): Promise<unknown> {
  if (request.type === "forget") for (const one of opened) one.numbers = [];
  if (request.type === "counts" || request.type === "forget") return counts;
  if (request.type === "reconcile") return reconcile(opened, request.confirmed, request.refused);
  for (let from = 0; from < request.connections.length; from += handshakesAtOnce)
    await Promise.all(request.connections.slice(from, from + handshakesAtOnce).map(openOne));
  return counts;
}

process.on("message", async ({ id, request }: { id: number; request: LoadRequest }) => {
  try {
    process.send?.({ id, answer: await answer(request) });
  } catch (error) {
    process.send?.({ id, error: String(error) });
  }
});
