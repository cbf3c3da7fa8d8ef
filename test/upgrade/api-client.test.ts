import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Ajv from "ajv/dist/2020";
import { type ClientAnswer, runClientSteps } from "./client-steps.ts";
import {
  copyInstallation,
  type Installation,
  type RunningServer,
  readRecorded,
  recordedDatabases,
  startOn,
} from "./recording.ts";

/** The fields that all recorded values of a place have, and their types. */
interface Shape {
  types: Set<string>;
  fields: Map<string, Shape> | null;
  items: Shape | null;
}

function shapeOf(values: unknown[]): Shape {
  const objects = values.filter((value) => typeOf(value) === "object") as Record<string, unknown>[];
  const [first, ...rest] = objects;
  const common = Object.keys(first ?? {}).filter((name) => rest.every((object) => name in object));
  const arrays = values.filter(Array.isArray).flat();
  return {
    types: new Set(values.map(typeOf)),
    fields: first ? new Map(common.map((name) => [name, shapeOf(objects.map((each) => each[name]))])) : null,
    items: arrays.length > 0 ? shapeOf(arrays) : null,
  };
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** Differences between today's value and the recorded one. */
function differences(shape: Shape, value: unknown, place: string): string[] {
  const type = typeOf(value);
  const isOnlyNull = shape.types.size === 1 && shape.types.has("null");
  if (!isOnlyNull && !shape.types.has(type))
    return [`${place} is ${type}, was ${[...shape.types].join(" or ")}`];
  if (Array.isArray(value) && shape.items)
    return value.flatMap((item, index) => differences(shape.items as Shape, item, `${place}[${index}]`));
  if (type !== "object" || !shape.fields) return [];
  const object = value as Record<string, unknown>;
  return [...shape.fields].flatMap(([name, field]) =>
    name in object ? differences(field, object[name], `${place}.${name}`) : [`${place}.${name} is gone`],
  );
}

const recordedAnswers = readRecorded<ClientAnswer[]>("client-answers.json");
const recordedApi = readRecorded<{ paths: Record<string, Record<string, { responses: unknown }>> }>(
  "openapi.json",
);
const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
ajv.addSchema(recordedApi, "api");

/** The recorded schema of a response; null: a response without a body. */
function schemaOf({ step, status }: ClientAnswer) {
  const path = step.path.split("?")[0]?.split("/").slice(1) ?? [];
  const isSame = (known: string) => {
    const parts = known.split("/").slice(1);
    return (
      parts.length === path.length &&
      parts.every((part, index) => part.startsWith("{") || part === path[index])
    );
  };
  const candidates = Object.keys(recordedApi.paths).filter(isSame);
  // A fixed name goes before a parameter: /users/by-name/{username} is no /users/{id}/….
  const known = candidates.sort((a, b) => a.split("{").length - b.split("{").length)[0] ?? "";
  const pointer = [known, step.method.toLowerCase(), "responses", String(status)]
    .map((part) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1")))
    .join("/");
  return ajv.getSchema(`api#/paths/${pointer}/content/${encodeURIComponent("application~1json")}/schema`);
}

test("a removed field or a changed type is detected", () => {
  const shape = shapeOf([{ id: 1, items: [{ a: "x", b: null }, { a: null }] }]);
  expect(differences(shape, { id: 2, items: [{ a: "y" }], more: true }, "answer")).toEqual([]);
  expect(differences(shape, { id: "2", items: [{}] }, "answer")).toEqual([
    "answer.id is string, was number",
    "answer.items[0].a is gone",
  ]);
});

describe.each(await recordedDatabases())("a recorded API client on %s", (name) => {
  let installation: Installation;
  let server: RunningServer;
  let answers: ClientAnswer[];
  beforeAll(async () => {
    installation = await copyInstallation(name);
    server = await startOn(installation);
    answers = await runClientSteps(server.url, installation.facts.sessions.admin, installation.facts.ids);
  });
  afterAll(async () => {
    await server?.stop();
    await installation?.remove();
  });

  test("gets the recorded status for each of its calls", () => {
    const summary = (all: ClientAnswer[]) =>
      all.map(({ step, status }) => `${step.method} ${step.path} ${status}`);
    expect(summary(answers)).toEqual(summary(recordedAnswers));
  });

  test("finds every recorded field with its type", () => {
    const found = answers.flatMap(({ step, body }, index) =>
      differences(shapeOf([recordedAnswers[index]?.body]), body, `${step.method} ${step.path}`),
    );
    expect(found).toEqual([]);
  });

  // A later version has more reasons. A client shows the text of a code that it does not know.
  const newReason = "#/components/schemas/ReasonPart/properties/code/enum ";

  test("reads every answer with the recorded schemas", () => {
    let checked = 0;
    for (const [index, { step, status, body }] of answers.entries()) {
      if (body === null) continue;
      const validate = schemaOf({ step, status, body });
      if (!validate && status >= 400) continue;
      if (!validate) throw new Error(`no schema for ${step.method} ${step.path} ${status}`);
      const faultsOf = (value: unknown) =>
        validate(value)
          ? []
          : (validate.errors ?? []).map(({ schemaPath, message }) => `${schemaPath} ${message}`);
      // The recorded schemas do not match every recorded response; those are excluded.
      const known = faultsOf(recordedAnswers[index]?.body);
      const faults = faultsOf(body).filter((fault) => !known.includes(fault) && !fault.startsWith(newReason));
      expect({ call: `${step.method} ${step.path}`, faults }).toEqual({
        call: `${step.method} ${step.path}`,
        faults: [],
      });
      checked++;
    }
    expect(checked).toBeGreaterThan(40);
  });
});
