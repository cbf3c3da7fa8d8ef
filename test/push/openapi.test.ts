import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import Ajv2020 from "ajv/dist/2020.js";
import fc from "fast-check";
import { targetTypes } from "../../src/push/message/message.ts";
import { isRefusal, readPublish } from "../../src/push/message/publish-request.ts";
import { eventually } from "../support/eventually.ts";
import { type PushApp, startPushApp } from "../support/push-app.ts";
import { PushClient } from "../support/push-client.ts";

interface Document {
  openapi: string;
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
  components: { schemas: Record<string, object> };
}

let app: PushApp;
let document: Document;
let ajv: Ajv2020;

beforeAll(async () => {
  app = await startPushApp({ "push.accept-client-message": true });
  document = (await (await app.get("/docs/push/openapi.json")).json()) as Document;
  // Every field of an answer must be documented.
  ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(closed(document) as object, "document");
});
afterAll(() => app.stop());

/** The same schemas, in which an object has no other fields than those that are named. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema).map(([name, value]) => [name, closed(value)]);
  const copy = Object.fromEntries(entries);
  return "properties" in schema && !("additionalProperties" in schema)
    ? { ...copy, additionalProperties: false }
    : copy;
}

const escaped = (text: string) => encodeURIComponent(text.replaceAll("~", "~0").replaceAll("/", "~1"));

/** Whether an answer has the schema that the document has for its status. */
async function expectDocumented(method: "get" | "post", path: string, answer: Response): Promise<void> {
  const place = `document#/paths/${escaped(path)}/${method}/responses/${answer.status}`;
  const validate = ajv.getSchema(`${place}/content/application~1json/schema`);
  const body = await answer.json();
  expect([path, answer.status, validate?.(body), validate?.errors ?? null, body]).toEqual([
    path,
    answer.status,
    true,
    null,
    body,
  ]);
}

test("the file in docs/ is what the server serves", async () => {
  const file = JSON.parse(await readFile(join(import.meta.dir, "../../docs/push-openapi.json"), "utf8"));
  // If this fails: bun scripts/push-openapi.ts
  expect(document as unknown).toEqual(file);
  expect(document.openapi).toBe("3.1.0");
});

test("the page lists every operation", async () => {
  const page = await (await app.get("/docs/push")).text();
  for (const path of Object.keys(document.paths)) expect(page).toContain(path);
});

test("every operation under /feign is documented, with its method", async () => {
  const routes = [...app.app.routes]
    .map((route) => (route.split(" ")[1] ?? "").replaceAll(/:(\w+)/g, "{$1}"))
    .filter((path) => path.startsWith("/feign/") && !path.endsWith("*"));
  expect(Object.keys(document.paths).sort()).toEqual(routes.sort());
  for (const [path, methods] of Object.entries(document.paths)) {
    const refused = await fetch(app.url + path, { method: "DELETE" });
    expect([path, refused.headers.get("allow")]).toEqual([path, Object.keys(methods).join().toUpperCase()]);
  }
});

test("real answers have the documented schemas", async () => {
  const client = await PushClient.open(`${app.wsUrl}?code=ann&channel=presence-room`);
  const posts: [string, unknown][] = [
    ["/feign/publish", { targetType: "user", target: "ann", data: "hello", ack: true }],
    ["/feign/publish", { targetType: "user", target: "", data: "hello" }],
    ["/feign/publish", "not JSON"],
    ["/feign/publishBatch", { messages: [{ targetType: "all", data: "a" }, { targetType: "none" }] }],
    ["/feign/publishBatch", { users: ["ann", "bo"], data: "b" }],
    ["/feign/publishBatch", {}],
    ["/feign/channels/join", { userId: "ann", channel: "news" }],
    ["/feign/channels/leave", { userId: "ann", channel: "news" }],
    ["/feign/channels/grant", { userId: "ann", channels: ["news"] }],
    ["/feign/channels/grant", { userId: "slipway:1", channels: [] }],
    ["/feign/disconnect", { userId: "ann", code: 7 }],
    ["/feign/disconnect", { userId: "bo" }],
  ];
  for (const [path, body] of posts) await expectDocumented("post", path, await app.post(path, body));
  const published = await app.publish({ targetType: "user", target: "ann", data: "traced" });
  const id = published.headers.get("x-push-id") ?? "";
  const gets: [string, string][] = [
    ["/feign/getOnlineUsers", ""],
    ["/feign/getOnlineUsers", "?scope=cluster"],
    ["/feign/getChannelUsers", "?channel=presence-room"],
    ["/feign/getChannelUsers", "?channel=news"],
    ["/feign/connections", ""],
    ["/feign/connections", "?userId=ann"],
    ["/feign/connections", "?userId=ann&scope=cluster"],
    ["/feign/messages", "?user=ann"],
    ["/feign/messages", ""],
  ];
  for (const [path, query] of gets) await expectDocumented("get", path, await app.get(path + query));
  await expectDocumented("get", "/feign/messages/{id}", await app.get(`/feign/messages/${id}`));
  await expectDocumented("get", "/feign/messages/{id}", await app.get("/feign/messages/none"));
  const disconnected = await app.post("/feign/disconnect?scope=cluster", { userId: "ann" });
  await expectDocumented("post", "/feign/disconnect", disconnected);
  await eventually("the connection is closed", () => client.closed !== null);
});

test("a body that the gateway accepts has the documented schema", () => {
  const validate = ajv.compile({ $ref: "document#/components/schemas/PublishRequest" });
  const value = fc.oneof(fc.string(), fc.constant("ann"), fc.constant(""), fc.integer(), fc.constant(null));
  const body = fc.record(
    {
      targetType: fc.oneof(fc.constantFrom<unknown>(...targetTypes), value),
      target: fc.oneof(fc.string(), fc.constant("ann")),
      data: value,
      ack: fc.oneof(fc.boolean(), value),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(body, (candidate) => {
      const read = readPublish(JSON.stringify(candidate));
      const isDocumented = validate(candidate);
      // Beyond its schema a body is refused only for its target, or for an `ack` that does not fit to it.
      if (isRefusal(read)) expect([40003, 40009].includes(read.code) || !isDocumented).toBe(true);
      else expect(isDocumented).toBe(true);
    }),
  );
});
