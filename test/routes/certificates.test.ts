import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { closeBrowser, startBrowser } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { startPebble } from "../support/pebble.ts";
import { openRouteScene, routeOf } from "../support/route-scene.ts";
import { installPackages } from "../support/service-install.ts";
import { serviceUrl } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const caddy = await serviceUrl("caddy");
const pebbleFolder = await serviceUrl("pebble");
const hasBrowser = Boolean(await serviceUrl("chromium"));

describe.skipIf(!caddy)("certificates of routes", () => {
  test("`internal`: https by the proxy's own authority, and http is redirected there", async () => {
    const scene = await openRouteScene("none", { caddyProgram: caddy });
    try {
      await scene.deploy(scene.release([scene.web("one", [routeOf("shop.test", { tls: "internal" })])]));
      await eventually("there is a certificate", () => scene.answersTls("shop.test"));
      expect(await scene.answersTls("shop.test", scene.authority())).toBe(true);
      const redirected = await scene.ask("shop.test", "/a?b=c");
      expect(redirected.status).toBe(308);
      expect(redirected.headers.get("location")).toBe(`https://shop.test:${scene.proxy.httpsPort}/a?b=c`);
      await eventually("its end is reported", () => {
        const until = scene.report()?.routes[0]?.certificateUntil;
        return until != null && Date.parse(until) > Date.now();
      });
      if (hasBrowser && (Bun.which("certutil") || (await installPackages("libnss3-tools"))))
        expect(await inChromium(scene.proxy.httpsPort, scene.authority())).toBe("one GET 0");
    } finally {
      await scene.stop();
    }
  }, 120_000);

  test.skipIf(!pebbleFolder)(
    "`auto`: from an authority by ACME; what it refuses is said in words",
    async () => {
      const ports = { http: freePort(), https: freePort() };
      const pebble = await startPebble(pebbleFolder ?? "", ports);
      const scene = await openRouteScene("none", {
        ...{ caddyProgram: caddy, httpPort: ports.http, httpsPort: ports.https },
        ...{ acme: pebble.directory, acmeRoots: pebble.roots, acmeEmail: "admin@shop.test" },
      });
      try {
        const routes = [routeOf("shop.test", { tls: "auto" }), routeOf("blocked.test", { tls: "auto" })];
        await scene.deploy(scene.release([scene.web("one", routes)]));
        await eventually("there is a certificate", async () =>
          scene.answersTls("shop.test", await pebble.authority()),
        );
        const reportOf = (domain: string) => scene.report()?.routes.find((route) => route.domain === domain);
        await eventually("its end is reported", () => reportOf("shop.test")?.certificateUntil != null);
        // What the name servers say does not hide what the authority said.
        await eventually("the name is reported", () =>
          `${reportOf("blocked.test")?.fault?.reason}`.includes("blocked.test has no address"),
        );
        await eventually("the refusal is reported", () =>
          /authority gave no certificate for blocked\.test: .*(refuse|policy|block|reject)/i.test(
            `${reportOf("blocked.test")?.fault?.reason}`,
          ),
        );
      } finally {
        await scene.stop();
        await pebble.stop();
      }
    },
    120_000,
  );
});

/** What a page shows to a browser that trusts the authority. */
async function inChromium(port: number, authority: string): Promise<string> {
  const home = temporaryFolder("browser-home");
  const database = join(home, ".pki/nssdb");
  mkdirSync(database, { recursive: true });
  writeFileSync(join(home, "root.crt"), authority);
  const certutil = (...args: string[]) => Bun.spawnSync(["certutil", "-d", `sql:${database}`, ...args]);
  certutil("-N", "--empty-password");
  certutil("-A", "-t", "C,,", "-n", "slipway", "-i", join(home, "root.crt"));
  const browser = await startBrowser({
    flags: ["--host-resolver-rules=MAP shop.test 127.0.0.1"],
    env: { HOME: home },
  });
  try {
    const page = await browser.newPage();
    await page.goto(`https://shop.test:${port}/`);
    return (await page.locator("body").textContent()) ?? "";
  } finally {
    await closeBrowser(browser);
  }
}
