import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { SlipwayPush } from "../../client/slipway-push.ts";
import { setUpPush } from "../support/api-setup.ts";
import { eventually } from "../support/eventually.ts";
import { startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";

/** Runs the examples of docs/push.md as they are written. */
const root = join(import.meta.dir, "../..");
const page = await Bun.file(join(root, "docs/push.md")).text();

/** The code block after this marker, and the JSON response right below it. */
function example(mark: string): { code: string; answer: string | null } {
  const found = new RegExp(`\`\`\`${mark}\n([\\s\\S]*?)\`\`\`(?:\n\n\`\`\`json\n([\\s\\S]*?)\n\`\`\`)?`).exec(
    page,
  );
  if (!found?.[1]) throw new Error(`docs/push.md has no example ${mark}.`);
  return { code: found[1], answer: found[2] ?? null };
}

const push = await setUpPush({ "push.api-keys": [] });

async function shell(code: string, gateway = push.url): Promise<string> {
  const child = Bun.spawn(["sh", "-c", code], { env: { ...process.env, SLIPWAY: gateway }, stdout: "pipe" });
  const text = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  return text;
}

async function run(mark: string): Promise<void> {
  const { code, answer } = example(`sh ${mark}`);
  const text = await shell(code);
  expect(JSON.parse(text)).toMatchObject({ code: 0, successful: true });
  if (answer !== null) expect(text).toBe(answer);
}

/** Runs a JavaScript example with the names that it uses. */
function javascript(mark: string, names: Record<string, unknown>): unknown {
  const { code } = example(`js ${mark}`);
  const [keys, values] = [Object.keys(names), Object.values(names)];
  return new Function(...keys, `${code}; return typeof socket === "undefined" ? push : socket;`)(...values);
}

describe("docs/push.md", () => {
  test("its verify responses are accepted", async () => {
    const answers = [...page.matchAll(/```json\n(\{ [\s\S]*?)\n```/g)].map(([, text]) => text ?? "");
    expect(answers.length).toBe(2);
    const before = push.verify.answer;
    for (const [index, answer] of answers.entries()) {
      push.verify.answer = () => new Response(answer);
      const client = await PushClient.open(`${push.wsUrl}?code=x&temp=1`, ["slipway.v1"]);
      const [welcome] = await client.receivedType("welcome");
      expect(welcome).toMatchObject({ userId: "42", kind: "temporary" });
      if (index === 1) expect(welcome?.channels).toEqual(["private-orders-42"]);
      client.close();
    }
    push.verify.answer = before;
  });

  test("the browser example receives what the curl examples publish", async () => {
    const shown: string[] = [];
    const socket = javascript("browser", {
      gateway: push.url.replace("http", "ws"),
      code: "42",
      show: (text: string) => shown.push(text),
    }) as WebSocket;
    await eventually("it connects", async () => (await push.online()).length === 1);
    for (const mark of [
      "publish-user",
      "publish-channel",
      "publish-once",
      "publish-batch",
      "publish-users",
      "publish-once",
      "publish-ack",
      "trace",
      "online",
    ])
      await run(mark);
    await eventually("it hears", () => shown.length >= 7);
    expect(shown).toEqual([
      "your order has shipped",
      "hello, channel",
      "only once",
      "one",
      "two",
      "the sale has begun",
      "please sign",
    ]);
    await run("disconnect");
    await eventually("it is closed", () => socket.readyState === WebSocket.CLOSED);
  });

  test("the client example receives messages, and reloads when they could not be recovered", async () => {
    const shown: string[] = [];
    let reloads = 0;
    const client = javascript("client", {
      SlipwayPush,
      gateway: push.url.replace("http", "ws"),
      fetchCode: async () => "42",
      show: (text: string) => shown.push(text),
      reloadEverything: () => reloads++,
    }) as SlipwayPush;
    await eventually("it connects", async () => (await push.online()).length === 1);
    await run("publish-user");
    await eventually("it hears", () => shown.includes("your order has shipped"));
    expect(reloads).toBe(0);
    client.close();
  });

  test("the event stream of the curl example receives messages", async () => {
    const child = Bun.spawn(["sh", "-c", `exec ${example("sh stream").code}`], {
      env: { ...process.env, SLIPWAY: push.url },
      stdout: "pipe",
    });
    let text = "";
    const reading = (async () => {
      for await (const chunk of child.stdout) text += new TextDecoder().decode(chunk);
    })();
    await eventually("it is welcome", () => text.includes('"type":"welcome"'));
    await run("publish-channel");
    await eventually("it hears", () => text.includes("hello, channel"));
    expect(text).toStartWith("retry: 3000\n\nid: ");
    child.kill();
    await reading;
  });

  test("the example with an api key", async () => {
    const guarded = await startPushApp({ "push.api-keys": ["the key of the shop"] });
    expect(JSON.parse(await shell(example("sh with-key").code, guarded.url))).toMatchObject({
      successful: true,
    });
    await guarded.stop();
  });

  test("every refusal and close code of the source is on the page", async () => {
    const { refusals } = await import("../../src/push/admission/refusals.ts");
    const { closeCodes } = await import("../../src/push/connection/connection.ts");
    for (const { code, status } of Object.values(refusals)) {
      expect(page).toContain(String(code));
      expect(page).toContain(String(status));
    }
    for (const code of Object.values(closeCodes)) expect(page).toContain(String(code));
  });

  test("every failure of /feign is on the page, with its status and what to do", async () => {
    const { refusals } = await import("../../src/push/admission/refusals.ts");
    const { failureCodes, statusOf } = await import("../../src/push/message/failure-codes.ts");
    const ofConnections = new Set<number>(Object.values(refusals).map(({ code }) => code));
    const answered = Object.values(failureCodes)
      .filter((code) => !ofConnections.has(code))
      .map((code) => `${statusOf(code)}: ${code}`);
    const [, table = ""] = /### Failed calls of `\/feign`\n([\s\S]*?)\n### /.exec(page) ?? [];
    const onPage = [...table.matchAll(/(\d{3}): ([\d, ]+)/g)].flatMap(([, status, codes = ""]) =>
      codes.split(",").map((code) => `${status}: ${code.trim()}`),
    );
    expect(onPage.sort()).toEqual(answered.sort());
    expect(page).toContain("Retry-After");
  });
});
