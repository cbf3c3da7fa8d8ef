import { describe, expect, test } from "bun:test";
import { appendFileSync, copyFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pino from "pino";
import { renderReason } from "../../src/reason/reason.ts";
import { openAccessLog } from "../../src/runner/route/access-log.ts";
import { findCaddyProgram } from "../../src/runner/route/caddy-program.ts";
import { openRoutes } from "../../src/runner/route/routes.ts";
import { eventually } from "../support/eventually.ts";
import { openRouteScene, routeOf } from "../support/route-scene.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { noProxy } from "../support/test-runner.ts";

const caddy = await serviceUrl("caddy");
const minute = 1_800_000_000_000 - (1_800_000_000_000 % 60_000);

describe("figures of requests", () => {
  const line = (seconds: number, status: number, duration: number, service = "7/web") =>
    `${JSON.stringify({ ts: minute / 1000 + seconds, service, status, duration, msg: "handled request" })}\n`;

  test("each finished minute is counted once, also over the end of a file", () => {
    const file = join(temporaryFolder("access"), "access.log");
    writeFileSync(file, line(1, 500, 1));
    const log = openAccessLog(file);
    for (let index = 0; index < 100; index += 1) appendFileSync(file, line(2, 200, (index + 1) / 1000));
    appendFileSync(file, `not json\n${line(3, 101, 3600)}${line(3, 200, 9, "8/web")}`);
    log.read();
    renameSync(file, `${file}.1`);
    writeFileSync(
      file,
      line(4, 503, 0.001) + line(5, 301, 0.001) + line(6, 404, 0.001) + line(70, 200, 0.001),
    );
    log.read();
    expect(log.unsent("7/web", minute + 30_000)).toBeNull();
    const figures = log.unsent("7/web", minute + 66_000);
    expect(figures).toEqual({
      from: new Date(minute).toISOString(),
      to: new Date(minute + 60_000).toISOString(),
      ...{ count: 104, success: 100, redirect: 1, clientError: 1, serverError: 1, p50Ms: 49, p95Ms: 95 },
    });
    if (figures !== null) log.sent("7/web", figures);
    expect(log.unsent("7/web", minute + 66_000)).toBeNull();
    expect(log.unsent("7/web", minute + 130_000)).toMatchObject({ count: 1, success: 1 });
  });

  test("a log that its proxy does not bound is emptied, or replaced if that is not permitted", () => {
    const file = join(temporaryFolder("access"), "access.log");
    let reopened = 0;
    const log = openAccessLog(file, () => {
      reopened += 1;
    });
    const full = `${" ".repeat(21 * 1024 * 1024)}\n`;
    writeFileSync(file, line(1, 200, 0.001) + full);
    log.read();
    expect([statSync(file).size, reopened]).toEqual([0, 0]);
    appendFileSync(file, line(2, 200, 0.001));
    log.read();
    expect(log.unsent("7/web", minute + 66_000)).toMatchObject({ count: 2 });
    // Even root cannot truncate the file of a running program.
    copyFileSync(process.execPath, file);
    const program = Bun.spawn([file, "-e", "await Bun.sleep(1e6)"]); // It runs until it is killed.
    log.read();
    expect([statSync(file).size, reopened]).toEqual([0, 1]);
    program.kill();
  });

  test.skipIf(!caddy)(
    "Caddy's log has the service of each request, and no header",
    async () => {
      const scene = await openRouteScene("none", { caddyProgram: caddy });
      try {
        await scene.deploy(scene.release([scene.web("one", [routeOf("shop.test")])]));
        const headers = { Authorization: "Bearer s3cret", "X-Token": "s3cret" };
        for (let index = 0; index < 5; index += 1) await scene.answer("shop.test", "/", { headers });
        const file = Bun.file(join(scene.root, "proxy/access.log"));
        await eventually(
          "they are written",
          async () => (await file.text()).split('"service":"7/web"').length === 6,
        );
        expect(await file.text()).not.toContain("s3cret");
        // A name that no name server knows.
        await scene.reopen();
        await eventually("the fault is reported", () =>
          `${scene.report()?.routes[0]?.fault?.reason}`.includes("the name shop.test has no address"),
        );
      } finally {
        await scene.stop();
      }
    },
    60_000,
  );
});

describe("the proxy of a machine", () => {
  const log = pino({ level: "silent" });
  const opened = async (settings: object) => {
    const routes = await openRoutes({
      ...noProxy,
      ...settings,
      root: temporaryFolder("proxy"),
      env: process.env,
      log,
    });
    routes.close();
    return { proxy: routes.proxy, note: renderReason(routes.note ?? "") };
  };

  test("an old or missing Caddy is reported with what to do", async () => {
    const folder = temporaryFolder("old");
    const old = join(folder, "caddy");
    writeFileSync(old, "#!/bin/sh\necho 2.6.2", { mode: 0o755 });
    expect(await opened({ proxy: undefined, caddyProgram: old })).toEqual({
      proxy: null,
      note: expect.stringContaining("is Caddy 2.6.2, and routes need 2.8 or newer") as unknown as string,
    });
    expect((await opened({ proxy: "none" })).note).toContain("runner.proxy is none");
    expect((await opened({ proxy: "caddy", caddyProgram: "/nowhere/caddy" })).note).toContain(
      "/nowhere/caddy",
    );
    expect((await opened({ proxy: "nginx" })).note).toContain("runner.nginx is not set");
    const lack = findCaddyProgram(undefined, { PATH: folder.replace("old", "none") });
    expect("lack" in lack && renderReason(lack.lack)).toContain("routes need Caddy 2.8 or newer");
  });

  test.skipIf(!caddy)("a Caddy is found", async () => {
    expect(await opened({ proxy: undefined, caddyProgram: caddy })).toEqual({ proxy: "caddy", note: "" });
  });
});
