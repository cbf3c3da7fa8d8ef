import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { type ApiServer, startApiServer } from "../support/api-server.ts";

let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer();
});

afterAll(() => server.stop());

function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(server.url + path, {
    headers: { accept: "text/html", ...headers },
    decompress: false,
  } as never);
}

async function page(): Promise<string> {
  return (await get("/", { "accept-encoding": "identity" })).text();
}

function assetsOf(html: string): string[] {
  return [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map((match) => match[1] ?? "");
}

test("the page is served at every address that a browser opens, and nowhere else", async () => {
  for (const path of ["/", "/projects/7/webhook", "/tasks/12", "/activity?outcome=ignored"]) {
    const response = await get(path);
    expect([path, response.status, response.headers.get("content-type")]).toEqual([
      path,
      200,
      "text/html;charset=utf-8",
    ]);
  }
  for (const path of ["/api/nothing", "/assets/nothing.js", "/metrics/x"]) {
    expect([path, (await get(path)).status]).toEqual([path, 404]);
  }
  expect((await get("/projects/7", { accept: "application/json" })).status).toBe(404);
  expect((await fetch(`${server.url}/projects`, { method: "POST" })).status).toBe(404);
});

test("the content security policy forbids inline scripts, and the page has none", async () => {
  const response = await get("/");
  const policy = response.headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self';");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  expect(await page()).not.toMatch(/<script(?![^>]*src=)|\son\w+=/);
});

test("the page comes in the language of the cookie, else of the browser, else in English", async () => {
  const languageOf = async (headers: Record<string, string>) => {
    const response = await get("/", { "accept-encoding": "identity", ...headers });
    const [, attribute] = /<html lang="([^"]+)">/.exec(await response.text()) ?? [];
    expect(response.headers.get("content-language")).toBe(attribute ?? "");
    expect(response.headers.get("vary")).toContain("Accept-Language");
    return attribute;
  };
  const cases = [
    ["", "", "en"],
    ["zh-CN,zh;q=0.9,en;q=0.8", "", "zh-CN"],
    ["en-GB,en;q=0.9,zh-CN;q=0.8", "", "en"],
    ["en;q=0.5, zh-Hans-SG", "", "zh-CN"],
    ["zh;q=0, de", "", "en"],
    ["fr, zh-TW;q=0.4", "", "zh-CN"],
    ["*;q=x,,;", "", "en"],
    ["en", "a=1; slipway_language=zh-CN", "zh-CN"],
    ["zh-CN", "slipway_language=en", "en"],
    ["zh-CN", "slipway_language=../../etc", "zh-CN"],
  ] as const;
  for (const [accepted, cookie, expected] of cases)
    expect([accepted, cookie, await languageOf({ "accept-language": accepted, cookie })]).toEqual([
      accepted,
      cookie,
      expected,
    ]);
});

test("a page loads the texts of one language only", async () => {
  for (const [language, other] of [
    ["en", "zh-cn"],
    ["zh-cn", "en"],
  ]) {
    const html = await (
      await get("/", { "accept-encoding": "identity", "accept-language": language ?? "" })
    ).text();
    expect(assetsOf(html).filter((path) => path.includes(`/start-${language}-`))).toHaveLength(1);
    expect(html).not.toContain(`/start-${other}-`);
  }
});

test("files are named by their content and cached for ever; the page itself is requested each time", async () => {
  const html = await get("/");
  expect(html.headers.get("cache-control")).toBe("no-cache");
  const etag = html.headers.get("etag") ?? "";
  expect((await get("/", { "if-none-match": etag })).status).toBe(304);
  expect((await get("/", { "if-none-match": `W/${etag}` })).status).toBe(304);
  for (const path of assetsOf(await page())) {
    const asset = await get(path);
    expect(path).toMatch(/-[a-z0-9]{8}\.(js|css|svg)$/);
    expect(asset.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect((await get(path, { "if-none-match": asset.headers.get("etag") ?? "" })).status).toBe(304);
  }
});

test("files come in brotli, gzip or plain, as the browser asks, and are the same", async () => {
  const path = assetsOf(await page()).find((asset) => asset.endsWith(".js")) ?? "";
  const plain = Buffer.from(await (await get(path, { "accept-encoding": "identity" })).arrayBuffer());
  const brotli = await get(path, { "accept-encoding": "gzip, br" });
  expect(brotli.headers.get("content-encoding")).toBe("br");
  expect(brotli.headers.get("vary")).toBe("Accept-Encoding");
  expect(brotliDecompressSync(Buffer.from(await brotli.arrayBuffer())).equals(plain)).toBe(true);
  const zipped = await get(path, { "accept-encoding": "gzip" });
  expect(zipped.headers.get("content-encoding")).toBe("gzip");
  expect(Buffer.from(Bun.gunzipSync(await zipped.arrayBuffer())).equals(plain)).toBe(true);
});

test("the first load is under 400 KB compressed", async () => {
  let total = 0;
  for (const path of ["/", ...assetsOf(await page())]) {
    const response = await get(path, { "accept-encoding": "gzip" });
    total += (await response.arrayBuffer()).byteLength;
  }
  expect(total).toBeLessThan(400 * 1024);
});

test("the compiled executable contains the console and needs no other file", async () => {
  const out = mkdtempSync(join(tmpdir(), "slipway-compiled-"));
  const compiled = Bun.spawnSync([process.execPath, "scripts/compile.ts", "--out", out], {
    cwd: join(import.meta.dir, "../.."),
  });
  expect([compiled.exitCode, compiled.stderr.toString()]).toEqual([0, ""]);
  const child = Bun.spawn(
    [
      ...[join(out, "slipway"), "deploy", "--server-listen", "127.0.0.1:0"],
      ...["--data-dir", join(out, "data"), "--log-format", "json"],
    ],
    { cwd: out, stdout: "pipe", stderr: "ignore", env: { PATH: process.env.PATH ?? "" } },
  );
  let output = "";
  let url = "";
  for await (const chunk of child.stdout) {
    output += Buffer.from(chunk).toString();
    url = /"url":"([^"]+)"/.exec(output)?.[1] ?? "";
    if (url !== "") break;
  }
  const response = await fetch(url, { headers: { accept: "text/html" } });
  expect(response.status).toBe(200);
  const [script = ""] = assetsOf(await response.text()).filter((path) => path.endsWith(".js"));
  expect((await fetch(url + script)).headers.get("content-type")).toContain("javascript");
  child.kill();
  await child.exited;
  rmSync(out, { recursive: true, force: true });
});
