import { describe, expect, test } from "bun:test";
import { setUpApi, setUpPush } from "../support/api-setup.ts";

const whole = await setUpApi({ "runner.enabled": false });
const gateway = await setUpPush({ "push.api-keys": ["a key of a service"] });

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

describe.each([
  ["slipway start", () => whole.url],
  ["slipway push", () => gateway.url],
])("the manual of %s", (_, url) => {
  const ask = (path: string, options: RequestInit = {}) =>
    fetch(url() + path, { redirect: "manual", ...options });

  test("is open to everyone, with a policy that runs only its own script", async () => {
    for (const [path, contentType] of [
      ["/manual/", "text/html;charset=utf-8"],
      ["/manual/push.html", "text/html;charset=utf-8"],
      ["/manual/hosts/", "text/html;charset=utf-8"],
      ["/manual/search.json", "application/json"],
      ["/manual/images/task.png", "image/png"],
      // Sources are shown, not run.
      ["/manual/clients/conformance/js-adapter.ts", "text/plain;charset=utf-8"],
      ["/manual/deploy/nginx.conf", "text/plain;charset=utf-8"],
    ] as const) {
      const { status, headers } = await ask(path);
      expect([path, status, headers.get("content-type")]).toEqual([path, 200, contentType]);
      expect(headers.get("content-security-policy")).toBe(policy);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("x-frame-options")).toBe("DENY");
      expect(headers.get("cache-control")).toBe("no-cache");
    }
  });

  test("is compressed, and not sent again to a client that has it", async () => {
    const first = await ask("/manual/push.html", {
      headers: { "accept-encoding": "gzip" },
      decompress: false,
    } as RequestInit);
    expect(first.headers.get("content-encoding")).toBe("gzip");
    const body = await first.bytes();
    const plain = await ask("/manual/push.html", { headers: { "accept-encoding": "identity" } });
    expect(plain.headers.get("content-encoding")).toBe(null);
    expect(Buffer.from(Bun.gunzipSync(body)).toString()).toBe(await plain.text());
    const again = await ask("/manual/push.html", {
      headers: { "if-none-match": first.headers.get("etag") ?? "" },
    });
    expect([again.status, await again.text()]).toEqual([304, ""]);
  });

  test("the script and the style have a hash in their names and may be kept", async () => {
    const html = await (await ask("/manual/")).text();
    const files = [...html.matchAll(/(?:src|href)="([\w-]+\.(?:js|css))"/g)].map(([, name = ""]) => name);
    expect(files.length).toBe(3);
    for (const name of files)
      expect((await ask(`/manual/${name}`)).headers.get("cache-control")).toContain("immutable");
  });

  test("addresses that people type lead to a page", async () => {
    for (const [typed, place] of [
      ["/manual", "/manual/"],
      ["/manual/push", "/manual/push.html"],
      ["/manual/hosts", "/manual/hosts/index.html"],
    ] as const) {
      const { status, headers } = await ask(typed);
      expect([typed, status, headers.get("location")]).toEqual([typed, 302, place]);
    }
  });

  test("what is no page of the manual is not served, whatever the path looks like", async () => {
    for (const path of [
      "/manual/nothing",
      "/manual/README.md",
      "/manual/docs/push.md",
      "/manual/..%2fpackage.json",
      "/manual/%2e%2e/package.json",
      "/manual/%2fetc%2fpasswd",
      "/manual/package.json",
      "/manual//evil.example",
      "/manual/__proto__",
    ]) {
      const answer = await ask(path);
      expect([path, answer.status]).toEqual([path, 404]);
      expect(await answer.text()).not.toContain('"dependencies"');
    }
    for (const method of ["POST", "PUT", "DELETE"])
      expect([method, (await ask("/manual/", { method })).status]).toEqual([method, 404]);
    const head = await ask("/manual/", { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });
});
