import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Adapter } from "./adapter.ts";
import { type ConformanceCase, matches, type Step } from "./case.ts";
import { type Refusal, ScriptedServer } from "./scripted-server.ts";

const stepLimitMs = 30_000;

/** Runs one case with a new process of the adapter. Throws with a transcript when the client does something else. */
export async function runCase(testCase: ConformanceCase, command: string[]): Promise<void> {
  const server = new ScriptedServer(testCase.codes);
  const transcript: string[] = [];
  const stateFolder = mkdtempSync(join(tmpdir(), "slipway-conformance-"));
  const options = { ...server.addresses, stateFolder, ...testCase.options };
  const startAdapter = () =>
    new Adapter(command, options, (line) => transcript.push(`client  ${line.slice(0, 400)}`));
  const scene: Scene = { server, adapter: startAdapter(), startAdapter };
  try {
    for (const step of testCase.steps) {
      transcript.push(`script  ${JSON.stringify(step).slice(0, 400)}`);
      await limited(runStep(scene, step));
    }
    await limited(scene.adapter.end());
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${testCase.name}: ${reason}\n${transcript.join("\n")}\n${await scene.adapter.kill()}`);
  } finally {
    await server.stop();
    rmSync(stateFolder, { recursive: true, force: true });
  }
}

interface Scene {
  server: ScriptedServer;
  adapter: Adapter;
  startAdapter(): Adapter;
}

type StepValue = Step[string];

const steps: Record<string, (scene: Scene, value: StepValue) => Promise<void>> = {
  async accepts({ server }, value) {
    const { transport, query, protocol } = await server.accept();
    const [code, temp, resume] = ["code", "temp", "resume"].map((name) => query.get(name));
    const asked = { transport, code, temp, resume, channels: query.getAll("channel") };
    check(asked, value);
    if (transport === "websocket" && protocol !== "slipway.v1")
      throw new Error(`the client asked for the subprotocol ${protocol}`);
  },
  async refuses({ server }, value) {
    const { status, refusal, ...expected } = fieldsOf(value);
    const { transport } = await server.refuse(refusalOf(status, refusal));
    check({ transport }, expected);
  },
  async answers({ server }, value) {
    const { status, refusal } = fieldsOf(value);
    server.plainAnswer = refusalOf(status, refusal);
  },
  async welcomes({ server }, value) {
    const usual = {
      type: "welcome",
      connectionId: "1",
      userId: "ann",
      kind: "normal",
      pingIntervalMs: 25_000,
    };
    const stream = server.transport === "sse" ? { stream: "s" } : {};
    await server.send(JSON.stringify({ ...usual, ...stream, recovered: false, ...fieldsOf(value) }));
  },
  async sends({ server }, value) {
    await server.send(textOf(value));
  },
  async closes({ server }, value) {
    const { code, reason = "" } = fieldsOf(value);
    await server.close(Number(code), String(reason));
  },
  async drops({ server }) {
    await server.close(1006, "");
  },
  async closed({ server }) {
    await server.ends.take();
  },
  async receives({ server }, value) {
    const text = await server.texts.take();
    check(typeof value === "string" ? text : JSON.parse(text), value);
  },
  async asked({ server }, value) {
    await server.codeRequests.take((count) => count === value);
  },
  async command({ adapter }, value) {
    adapter.command(value);
  },
  async restarts(scene) {
    await scene.adapter.end();
    scene.adapter = scene.startAdapter();
  },
  async emits({ adapter }, value) {
    const { event: name } = fieldsOf(value);
    check(await adapter.events.take(({ event }) => event === name), value);
  },
  async ends({ adapter, server }, value) {
    const { state } = fieldsOf(value);
    check(await adapter.events.take((event) => event.event === "status" && event.state === state), value);
    if (server.attempts.size > 0) throw new Error("the client connects although it has ended");
  },
};

async function runStep(scene: Scene, step: Step): Promise<void> {
  for (const [name, value] of Object.entries(step)) {
    const run = steps[name];
    if (!run) throw new Error(`no such step: ${name}`);
    await run(scene, value ?? null);
  }
}

function check(actual: unknown, expected: StepValue): void {
  if (matches(actual, expected ?? null)) return;
  throw new Error(
    `expected ${JSON.stringify(expected).slice(0, 400)}, got ${JSON.stringify(actual).slice(0, 400)}`,
  );
}

function refusalOf(status?: StepValue, refusal?: StepValue): Refusal {
  return { status: Number(status), ...(typeof refusal === "number" ? { refusal } : {}) };
}

function fieldsOf(value: StepValue): Record<string, StepValue> {
  return Object(value);
}

const textOf = (value: StepValue) => (typeof value === "string" ? value : JSON.stringify(value));

async function limited<T>(work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`not within ${stepLimitMs / 1000} s`)), stepLimitMs);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}
