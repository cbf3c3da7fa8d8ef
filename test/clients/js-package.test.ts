import { beforeAll, expect, test } from "bun:test";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buildClient } from "../../scripts/build-client.ts";
import { startFakeGateway } from "../support/fake-gateway.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const root = join(import.meta.dir, "../..");
/** A project that has installed the package. */
const project = temporaryFolder("js-package");
const built = join(project, "node_modules/slipway-push");

beforeAll(async () => {
  await buildClient(built);
  await mkdir(join(project, "node_modules/@types"), { recursive: true });
  for (const name of ["react", "@types/react"])
    await symlink(join(root, "node_modules", name), join(project, "node_modules", name));
});

async function run(command: string[]): Promise<{ code: number; output: string }> {
  const child = Bun.spawn(command, { cwd: project, stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, output: out + err };
}

test("the core is at most 6 KB, minified and compressed", async () => {
  const { outputs } = await Bun.build({
    entrypoints: [join(built, "slipway-push.js")],
    target: "browser",
    minify: true,
  });
  const size = Bun.gzipSync(
    (await outputs[0]?.arrayBuffer().then((bytes) => new Uint8Array(bytes))) ?? new Uint8Array(),
  ).length;
  expect(size).toBeGreaterThan(1000);
  expect(size).toBeLessThanOrEqual(6 * 1024);
});

test("the core uses nothing that mini programs lack", async () => {
  const code = await readFile(join(built, "slipway-push.js"), "utf8");
  expect(code).not.toMatch(/new URL|URLSearchParams|TextEncoder|^import /m);
});

test("every entry of the package and its types exist", async () => {
  const { exports } = JSON.parse(await readFile(join(built, "package.json"), "utf8"));
  for (const entry of Object.values<Record<string, string>>(exports))
    for (const file of Object.values(entry)) expect(await Bun.file(join(built, file)).exists()).toBe(true);
});

test.each(["bundler", "nodenext"])("a strict project compiles with its types (%s)", async (resolution) => {
  await writeFile(join(project, "package.json"), '{"type":"module"}');
  await writeFile(
    join(project, "app.ts"),
    `import { type PushMessage, SlipwayPush } from "slipway-push";
     import { usePush } from "slipway-push/react";
     import { type MiniProgram, weChatSocket } from "slipway-push/wechat";
     declare const wx: MiniProgram;
     const push = new SlipwayPush({ url: "wss://push.example.com/ws", code: () => null, webSocket: weChatSocket(wx) });
     push.on("message", (message: PushMessage) => message.data.length);
     new SlipwayPush({ url: "", code: () => null, webSocket: WebSocket });
     export const useIt = () => usePush(push, { channels: ["news"] }).state;
     // @ts-expect-error: a code is a text
     new SlipwayPush({ url: "", code: () => 1 });`,
  );
  const module = resolution === "bundler" ? "preserve" : "nodenext";
  const options = ["--noEmit", "--strict", "--module", module, "--moduleResolution", resolution];
  const types = ["--types", "", "--target", "esnext", "--lib", "esnext,dom"];
  expect(
    await run([join(root, "node_modules/.bin/tsc"), "--ignoreConfig", ...options, ...types, "app.ts"]),
  ).toEqual({ code: 0, output: "" });
});

test("Node loads the package and connects with it", async () => {
  const gateway = startFakeGateway();
  await writeFile(
    join(project, "app.mjs"),
    `import { SlipwayPush } from "slipway-push";
     const webSocket = globalThis.WebSocket ?? (await import("${join(root, "node_modules/ws/wrapper.mjs")}")).WebSocket;
     const push = new SlipwayPush({ url: process.argv[2], code: () => "code", webSocket });
     push.on("open", ({ userId, transport }) => { console.log(userId, transport); push.close(); });
     push.open();`,
  );
  const ran = await run(["node", "app.mjs", gateway.url]);
  gateway.close();
  expect(ran).toEqual({ code: 0, output: "ann websocket\n" });
});
