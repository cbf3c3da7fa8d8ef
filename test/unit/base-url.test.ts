import { expect, test } from "bun:test";
import { buildBaseUrl } from "../../src/app/base-url.ts";

test.each([
  ["127.0.0.1", "http://127.0.0.1:9000"],
  ["0.0.0.0", "http://127.0.0.1:9000"],
  ["::", "http://127.0.0.1:9000"],
  ["::1", "http://[::1]:9000"],
  ["deploy.internal", "http://deploy.internal:9000"],
])("without server.baseUrl, listening on %s is reached at %s, with the port really bound", (host, url) => {
  const baseUrl = buildBaseUrl(undefined, { host, port: 0 });
  baseUrl.bound(9000);
  expect(baseUrl.current()).toEqual({ url, isConfigured: false });
});

test("server.baseUrl is taken as it is, wherever the server listens", () => {
  const baseUrl = buildBaseUrl("https://deploy.example.com", { host: "0.0.0.0", port: 0 });
  baseUrl.bound(9000);
  expect(baseUrl.current()).toEqual({ url: "https://deploy.example.com", isConfigured: true });
});
