import { describe, expect, test } from "bun:test";
import { parse } from "yaml";
import { z } from "zod";
import { differences, differenceText } from "../../src/cli/remote/project-file/difference.ts";
import { changeSchema, leftOut, readProjectFile } from "../../src/cli/remote/project-file/schema.ts";
import { notifyTargetBody } from "../../src/http/api/notify-shape.ts";
import { projectBodies } from "../../src/http/api/project-shape.ts";
import { readOnlyNames, webhookBody } from "../../src/http/api/webhook-shape.ts";
import { stepBodyFields } from "../../src/model/pipeline.ts";
import { serviceBodyFields } from "../../src/model/service/service.ts";
import { wholeProject } from "../support/whole-project.ts";

interface Whole {
  pipeline: { build?: object[]; deploy?: object[]; start?: Record<string, object> };
}
const files = wholeProject.files(1).map((text) => parse(text) as Whole);

/** The fields of a schema that none of the values has. */
function unsaid(schema: unknown, values: unknown[], path: string): string[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return unsaid(schema.unwrap(), values, path);
  const objects = values.filter((value): value is object => typeof value === "object" && value !== null);
  if (schema instanceof z.ZodArray)
    return unsaid(
      schema.element,
      objects.flatMap((list) => (Array.isArray(list) ? list : [])),
      path,
    );
  const maps = objects.filter((value) => !Array.isArray(value));
  if (schema instanceof z.ZodRecord)
    return unsaid(
      schema.valueType,
      maps.flatMap((value) => Object.values(value)),
      path,
    );
  if (schema instanceof z.ZodUnion) {
    const counts = schema.options.map((option) => unsaid(option, values, path));
    return counts.toSorted((a, b) => a.length - b.length)[0] ?? [];
  }
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([name, field]) => {
    const own = `${path}.${name}`;
    const held = maps.flatMap((value) => (name in value ? [Reflect.get(value, name) as unknown] : []));
    return held.length === 0 ? [own] : unsaid(field, held, own);
  });
}

describe("the file of a project", () => {
  test("has every field of the API's bodies, or a reason why not", () => {
    const body = projectBodies({ allowLocal: true, samplesDir: "", trusted: [] }).update;
    const { webhook, notify, secrets: _, credential: _credential, keys: _keys, ...own } = changeSchema.shape;
    const names = [...Object.keys(own), "notify", ...Object.keys(leftOut.project)];
    expect(names.toSorted()).toEqual(Object.keys(body.shape).toSorted());
    const ofWebhook = [...Object.keys(webhook.unwrap().shape), ...Object.keys(leftOut.webhook)];
    const settable = Object.keys(webhookBody.shape).filter((name) => !readOnlyNames.includes(name));
    expect(ofWebhook.toSorted()).toEqual(settable.toSorted());
    const ofTarget = [...Object.keys(notify.unwrap().element.shape), ...Object.keys(leftOut.notify)];
    expect(ofTarget.toSorted()).toEqual(Object.keys(notifyTargetBody.shape).toSorted());
    // A new field is in the file by itself; this list grows only on purpose.
    expect(leftOut).toEqual({
      project: { stages: expect.any(String) },
      notify: { id: expect.any(String) },
      webhook: {
        ...{ clearSecret: expect.any(String), secondSecret: expect.any(String) },
        ...{ clearSecondSecret: expect.any(String), secondSecretUntil: expect.any(String) },
      },
    });
  });

  test("of the test of export and apply says every field", () => {
    const { pipeline, ...others } = changeSchema.shape;
    const held = files.map(({ pipeline: { build, deploy, start, ...rest }, ...file }) => ({
      ...file,
      pipeline: rest,
    }));
    const { build: _build, deploy: _deploy, start: _start, ...ofRelease } = pipeline.unwrap().shape;
    const whole = z.object({ ...others, pipeline: z.object(ofRelease) });
    expect(unsaid(whole, held, "file"), "Add them to test/support/whole-project.ts.").toEqual([]);
    expect(unsaid(whole, [{ name: "shop", git: { url: "x" } }], "file")).toContain("file.git.ref");
    const pipelines = files.map((file) => file.pipeline);
    const steps = pipelines.flatMap(({ build = [], deploy = [] }) => [...build, ...deploy]);
    const { check: _check, ...stepFields } = stepBodyFields;
    expect(unsaid(z.object(stepFields), steps, "step")).toEqual([]);
    const services = pipelines.flatMap(({ start = {} }) => Object.values(start));
    const ofServices = unsaid(z.object(serviceBodyFields), services, "service");
    // One header stands for all of them.
    expect(ofServices.filter((field) => !field.startsWith("service.routes.headers."))).toEqual([]);
  });

  test("says why it does not have a field of the API", () => {
    const read = readProjectFile(
      "stages: {}\nnotify: [{ id: x, url: channel:a }]\nwebhook: { clearSecret: true }\nmembers: {}\n",
    );
    const faults = Array.isArray(read) ? read.map(({ field, message }) => `${field} ${message}`) : [];
    expect(faults).toEqual([
      "stages cannot be in the file: `pipeline` says the same and more",
      expect.stringMatching(/^notify.0.id cannot be in the file: targets are found by/),
      "webhook.clearSecret cannot be in the file: `secret: null` says it",
      expect.stringMatching(/^members cannot be in the file: people differ/),
    ]);
  });

  test("that is empty, or no map, says how to begin", () => {
    for (const text of ["", "# nothing", "[]", "a text"])
      expect(readProjectFile(text)).toMatchObject([{ line: 1, column: 1, field: "" }]);
  });
});

describe("differences", () => {
  test("are by field; lists of plain values are whole", () => {
    const before = {
      a: 1,
      b: { c: "x", d: null },
      list: ["a"],
      steps: [{ s: "1" }, { s: "2" }],
      gone: { x: 1 },
    };
    const after = { a: 1, b: { c: "y", d: 5 }, list: ["a", "b"], steps: [{ s: "1" }], made: { y: {} } };
    expect(differences(before, after).map(differenceText)).toEqual([
      '  ~ b.c: "x" → "y"',
      "  ~ b.d: null → 5",
      '  ~ list: ["a"] → ["a","b"]',
      '  - steps.1.s: "2"',
      "  - gone.x: 1",
      "  + made.y: {}",
    ]);
    expect(differences(before, structuredClone(before))).toEqual([]);
  });

  test("are never lost between values of different kinds", () => {
    const values = [undefined, null, 0, "", "a", [], ["a"], [{ a: 1 }], {}, { a: 1 }, { a: undefined, b: 2 }];
    for (const [index, from] of values.entries())
      for (const [place, to] of values.entries())
        expect([from, to, differences({ v: from }, { v: to }).length > 0]).toEqual([
          from,
          to,
          index !== place,
        ]);
  });

  test("of texts with several lines are the lines that differ", () => {
    const text = (from: string, to: string) => differenceText({ field: "script", from, to });
    expect(text("a\nb\nc\n", "a\nx\ny\nc\n")).toBe("  ~ script:\n      - b\n      + x\n      + y");
    expect(text("a\nb", "a\nb\nc")).toBe("  ~ script:\n      + c");
    expect(text("a\na", "a\na\na")).toBe("  ~ script:\n      + a");
    expect(text("one", "a\nb")).toBe("  ~ script:\n      - one\n      + a\n      + b");
  });
});
