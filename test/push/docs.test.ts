import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { SlipwayPush } from "../../client/slipway-push.ts";
import { startApiServer } from "../support/api-server.ts";
import { setUpPush } from "../support/api-setup.ts";
import { eventually } from "../support/eventually.ts";
import { failureOf } from "../support/failure.ts";
import { freePort } from "../support/free-port.ts";
import { startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

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

async function shell(
  code: string,
  gateway = push.url,
  variables: Record<string, string> = {},
): Promise<string> {
  const env = { ...process.env, SLIPWAY: gateway, ...variables };
  const child = Bun.spawn(["sh", "-c", code], { env, stdout: "pipe" });
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

  test("a backend as on the page makes codes, each for one connection", async () => {
    const program = join(temporaryFolder("codes"), "codes.mjs");
    await Bun.write(program, example("js codes").code);
    const port = freePort();
    const env = { ...process.env, PORT: String(port) };
    const child = Bun.spawn([process.execPath, program], { env, stderr: "inherit" });
    const backend = `http://127.0.0.1:${port}`;
    const ask = (headers: Record<string, string>) =>
      fetch(`${backend}/push-code`, { method: "POST", headers });
    await eventually("it listens", async () => (await ask({}).catch(() => null)) !== null);
    expect((await ask({})).status).toBe(401);
    const code = await (await ask({ "x-user": "42" })).text();
    const app = await startPushApp({ "push.verify-uri": `${backend}/verify` });
    const client = await PushClient.open(`${app.wsUrl}?code=${code}`);
    expect(await app.online()).toEqual(["42"]);
    expect(String(await failureOf(PushClient.open(`${app.wsUrl}?code=${code}`)))).toContain("refused");
    client.close();
    child.kill();
    await app.stop();
  });

  test("a code that is signed as on the page opens one connection", async () => {
    const program = join(temporaryFolder("sign"), "sign.mjs");
    await Bun.write(program, example("js sign").code);
    const { pushCode } = (await import(program)) as { pushCode(userId: string, secret: string): string };
    const secret = "a secret of at least thirty-two bytes";
    const app = await startPushApp({ "push.jwt.secrets": [secret], "push.jwt.audience": "push" });
    const code = pushCode("42", secret);
    const client = await PushClient.open(`${app.wsUrl}?code=${code}`);
    expect(await app.online()).toEqual(["42"]);
    expect(String(await failureOf(PushClient.open(`${app.wsUrl}?code=${code}`)))).toContain("refused");
    client.close();
    await app.stop();
  });

  test("the deploy service makes codes for an admin's token", async () => {
    const server = await startApiServer({}, undefined, "start");
    const { token } = await server.admin.expect<{ token: string }>(201, "POST", "/api/tokens", {
      name: "backend",
      scopes: ["admin"],
    });
    const text = await shell(example("sh own-code").code, server.url, { TOKEN: token });
    const { code, expiresIn } = JSON.parse(text) as { code: string; expiresIn: number };
    expect(expiresIn).toBe(60);
    const client = await PushClient.open(`${server.url.replace("http", "ws")}/ws?code=${code}`, [
      "slipway.v1",
    ]);
    expect((await client.receivedType("welcome"))[0]).toMatchObject({ userId: "42" });
    client.close();
    await server.stop();
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
