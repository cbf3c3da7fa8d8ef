import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type ApiClient, startApiServer } from "../support/api-server.ts";
import { availableDatabases } from "../support/databases.ts";
import { pick } from "../support/length.ts";
import { longTest } from "../support/long-test.ts";
import { nastyText, type Shapes, type ValueSchema, valuesOf } from "../support/schema-values.ts";

longTest(600_000);

interface Operation {
  parameters?: { name: string; in: string; schema: ValueSchema }[];
  requestBody?: { content: Record<string, { schema: ValueSchema }> };
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Shapes };
}

/** These would end the session that the test runs in, or wait for work. */
const leftOut = new Set(["post /api/auth/logout", "post /api/runner/claim"]);

async function startFuzzed(databaseUrl: string) {
  const server = await startApiServer({ "database.url": databaseUrl });
  const { client } = await server.newUser("fuzzer", "admin");
  const document = await client.expect<Document>(200, "GET", "/api/openapi.json");
  const git = { url: "https://git.example.com/shop.git" };
  await client.expect(201, "POST", "/api/groups", { name: "fuzzed" });
  for (const name of ["one", "two", "three"])
    await client.expect(201, "POST", "/api/projects", { name, git });
  return { server, client, document };
}

/** Valid ids, impossible ids and text; never 2, the user of the test. */
const pathValue = fc.oneof(
  fc.constantFrom(
    "1",
    "3",
    "4",
    "0",
    "-1",
    "2147483648",
    "99999999999999999999",
    "1e3",
    "NAME",
    "status-token",
  ),
  nastyText
    .map((text) => (text.isWellFormed() ? text.slice(0, 300) : "x"))
    .filter((text) => text !== "2" && text !== ""),
);

interface Call {
  method: string;
  path: string;
  body?: unknown;
}

function callsOf(method: string, path: string, operation: Operation, shapes: Shapes): fc.Arbitrary<Call> {
  const parameters = operation.parameters ?? [];
  const inPath = parameters.filter((parameter) => parameter.in === "path");
  const inQuery = parameters.filter((parameter) => parameter.in === "query");
  const schema = operation.requestBody?.content["application/json"]?.schema;
  const query = fc.record(
    Object.fromEntries(inQuery.map(({ name, schema }) => [name, valuesOf(schema, shapes)])),
    { requiredKeys: [] },
  );
  return fc
    .record({
      values: fc.tuple(...inPath.map(() => pathValue)),
      query,
      body: schema ? valuesOf(schema, shapes) : fc.constant(undefined),
    })
    .map(({ values, query, body }) => {
      const filled = inPath.reduce(
        (text, { name }, index) => text.replace(`{${name}}`, () => encodeURIComponent(values[index] ?? "1")),
        path,
      );
      const pairs = Object.entries(query).map(([name, value]) => [name, asText(value)]);
      const search = new URLSearchParams(Object.fromEntries(pairs)).toString();
      return { method: method.toUpperCase(), path: search === "" ? filled : `${filled}?${search}`, body };
    });
}

function asText(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.toWellFormed().slice(0, 500);
}

describe.each(await availableDatabases())("on $name", ({ make }) => {
  test("no input whatever makes the API answer 500, and every refusal has the error shape", async () => {
    const database = await make();
    const { server, client, document } = await startFuzzed(database.url);
    for (const [path, operations] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(operations)) {
        if (leftOut.has(`${method} ${path}`)) continue;
        await fc.assert(
          fc.asyncProperty(callsOf(method, path, operation, document.components.schemas), (call) =>
            isAnswered(client, call),
          ),
          { numRuns: pick(10, 500) },
        );
      }
    }
    expect(server.logLines.filter((line) => line.includes('"request failed"'))).toEqual([]);
    await server.stop();
    await database.remove();
  }, 600_000);
});

async function isAnswered(client: ApiClient, call: Call): Promise<void> {
  const answer = await client.request(call.method, call.path, call.body);
  expect(answer.status).toBeLessThan(500);
  expect(answer.headers.get("x-request-id")).toBeTruthy();
  if (answer.status < 400) return;
  const { error } = answer.body as { error: { code: unknown; message: unknown } };
  expect([typeof error.code, typeof error.message]).toEqual(["string", "string"]);
}
