import { afterAll, expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeTestUser } from "../support/test-user.ts";
import { startVerifyService } from "../support/verify-service.ts";
import { startWorkers } from "../support/worker-instance.ts";

const verify = startVerifyService();
afterAll(() => verify.stop());

/** Holds the names that earlier versions locked, and a folder with a name as the lock has now. */
const holdScript = `const [names, folder] = process.argv.slice(1);
for (const name of JSON.parse(names)) Bun.listen({ unix: "\\0" + name, socket: { data() {} } });
require("node:fs").mkdirSync(folder, { mode: 0o700 });
console.log("held");
setInterval(() => {}, 1000);`;

test("the port of several workers cannot be held by another user, and a killed supervisor does not hold it", async () => {
  const push = await startWorkers(2, { "push-verify-uri": verify.url });
  const { port } = new URL(push.url);
  const [name] = readdirSync(tmpdir()).filter((each) => each.startsWith(`slipway-127.0.0.1-${port}-`));
  const taken = join(tmpdir(), name ?? "missing");
  await push.end("SIGKILL");
  const user = await makeTestUser();
  const names = [`slipway-listens-on-127.0.0.1#${port}`, `slipway-listens-on-*#${port}`];
  const holder = Bun.spawn([process.execPath, "-e", holdScript, JSON.stringify(names), `${taken}x`], {
    ...{ cwd: "/", env: { HOME: user?.home ?? "/" }, stdout: "pipe", stdin: "pipe" },
    ...(user ? { uid: user.uid, gid: user.gid } : {}),
  } as never) as Bun.Subprocess<"pipe", "pipe">;
  try {
    for await (const chunk of holder.stdout) if (new TextDecoder().decode(chunk).includes("held")) break;
    await push.start();
    expect(existsSync(taken)).toBe(false);
    expect(existsSync(`${taken}x`)).toBe(user !== undefined);
  } finally {
    await push.stop();
    holder.kill("SIGKILL");
    rmSync(`${taken}x`, { recursive: true, force: true });
  }
});
