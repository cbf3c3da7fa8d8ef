import { afterAll, expect, test } from "bun:test";
import { SlipwayPush } from "../../client/slipway-push.ts";
import { runnerFeatures } from "../../src/runner/protocol.ts";
import { buildCli } from "../support/cli.ts";
import { eventually } from "../support/eventually.ts";
import { examplesOf } from "../support/page-examples.ts";
import { startServiceScene } from "../support/service-scene.ts";

const scene = await startServiceScene({}, undefined, "start");
const { server } = scene;
const shop = await scene.deployed(["web"], { name: "shop" });
afterAll(() => server.stop());
const { token } = await server.admin.expect<{ token: string }>(201, "POST", "/api/tokens", {
  ...{ name: "shell", scopes: ["write", "admin"] },
});
const slipway = buildCli({ SLIPWAY_URL: server.url, SLIPWAY_TOKEN: token });

test("docs/routes.md: its pipeline and its target are accepted, its commands list routes, and its page hears of a release", async () => {
  const [pipeline, commands, target, _message, code] = await examplesOf("routes.md");
  const path = `/api/projects/${shop.projectId}`;
  const change = (text = "") => server.admin.expect(200, "PATCH", path, JSON.parse(text));
  await change(pipeline?.text);
  await change(target?.text);
  const fault = { reason: "shop.example.com does not resolve to this machine." };
  const place = { domain: "shop.example.com", path: "/", url: "https://shop.example.com/" };
  await scene.report(scene.service(shop, { routes: [{ ...place, fault, certificateUntil: null }] }));
  const [all, own] = (commands?.text ?? "").trim().split("\n");
  const listed = await slipway((all ?? "").split(" ").slice(1));
  expect(listed).toMatchObject({ exitCode: 0, stderr: "" });
  expect(listed.stdout).toMatch(/^PROJECT +SERVICE +URL +STATE +CERTIFICATE UNTIL +WHY$/m);
  expect(listed.stdout).toMatch(/^shop +web +https:\/\/shop\.example\.com\/ +fault .*does not resolve/m);
  expect(listed.stdout).toMatch(/^shop +api +https:\/\/shop\.example\.com\/api +waiting/m);
  const one = await slipway([...(own ?? "").split(" ").slice(1), "--json"]);
  expect(one.json()).toMatchObject({ routes: [{ service: "web", state: "fault" }, {}, { service: "api" }] });

  const push = new SlipwayPush({
    url: `${server.url}/ws`,
    temporary: true,
    code: async () =>
      (await server.admin.expect<{ code: string }>(201, "POST", "/api/push/codes", { userId: "ann" })).code,
  });
  const heard: string[] = [];
  new Function("push", "showNotice", code?.text ?? "")(push, (notice: string) => heard.push(notice));
  let isOpen = false;
  push.on("open", () => {
    isOpen = true;
  });
  push.open();
  await eventually("the page is connected", () => isOpen);
  await scene.deploy(shop.projectId);
  await eventually("the release is heard", () => heard.length > 0);
  expect(heard).toEqual(["A new version is there. Reload"]);
  push.close();
});

test("runner show says which proxy a runner has, or how it gets one", async () => {
  const shown = async (reported: object) => {
    const claim = { labels: [], concurrency: 1, version: "test", features: runnerFeatures, ...reported };
    expect((await scene.runner.post("hello", claim)).status).toBe(200);
    return (await slipway(["runner", "show", String(scene.runner.id)])).stdout;
  };
  expect(await shown({ proxyNote: { reason: "install Caddy 2.8" } })).toContain(
    "No proxy for routes: install Caddy 2.8.",
  );
  expect(await shown({ proxy: "caddy" })).toContain("Proxy for routes: caddy.");
});
