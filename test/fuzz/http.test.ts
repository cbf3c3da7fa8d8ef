import { expect, test } from "bun:test";
import fc from "fast-check";
import { setUpApi } from "../support/api-setup.ts";
import { fuzz, mutated, sendBytes } from "../support/fuzz.ts";
import { longTest } from "../support/long-test.ts";

longTest(1_200_000);

const server = await setUpApi({}, undefined, "start");

function request(method: string, path: string, headers: string[] = [], body = ""): Buffer {
  const length = body === "" ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  return Buffer.from(
    [`${method} ${path} HTTP/1.1`, "Host: 127.0.0.1", ...headers, ...length, "", body].join("\r\n"),
  );
}

const json = "Content-Type: application/json";
const samples = [
  request("GET", "/"),
  request("GET", "/readyz"),
  request("GET", "/metrics"),
  request("GET", "/docs"),
  request("GET", "/api/projects?page=1&pageSize=20", [
    "Authorization: Bearer slipway_x",
    "Accept-Encoding: gzip",
  ]),
  request("GET", "/api/tasks/1/log?from=0", ["Cookie: slipway=x"]),
  request("POST", "/api/auth/login", [json], '{"username":"admin","password":"x"}'),
  request("POST", "/feign/publish", [json], '{"targetType":"all","target":"","data":"x"}'),
  request("POST", "/feign/channels/join", [json], '{"userId":"1","channel":"news"}'),
  request("GET", "/feign/getOnlineUsers?scope=cluster"),
  request("POST", `/api/hooks/git/${"ab".repeat(24)}?secret=x`, [json], '{"event":"push","ref":"main"}'),
  request("POST", "/api/runner/claim", [json, "Authorization: Bearer x"], '{"labels":[],"concurrency":1}'),
  request("GET", "/ws?code=x&channel=news&resume=1", [
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version: 13",
  ]),
  request("POST", "/api/projects", ["Transfer-Encoding: chunked", json], "5\r\nhello\r\n0\r\n\r\n"),
];

/** The largest response is a page or asset; a refusal is far smaller. */
const answerMaxBytes = 4 * 1024 * 1024;
/** The server answers an incomplete request only after its deadline; the test does not wait for that. */
const patienceMs = 250;

test("no bytes sent to the port cause a server error", async () => {
  await fuzz({
    name: "HTTP requests",
    inputs: { short: 2_500, long: 100_000 },
    arbitrary: fc.oneof(
      { weight: 5, arbitrary: mutated(samples) },
      { weight: 1, arbitrary: fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes)) },
    ),
    async check(bytes) {
      const answer = await sendBytes(server.app.port, [bytes], patienceMs);
      // The runtime answers 505 for an HTTP version that it does not support.
      expect(answer.head).not.toMatch(/^HTTP\/1\.\d 5(?!05)/);
      return { used: answer.bytes, bound: answerMaxBytes };
    },
  });
  expect((await server.anonymous.request("GET", "/readyz")).status).toBe(200);
  expect(server.logLines.filter((line) => line.includes('"request failed"'))).toEqual([]);
}, 1_200_000);
