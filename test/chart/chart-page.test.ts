import { expect, test } from "bun:test";
import { join } from "node:path";
import { chartFolder } from "../support/chart.ts";

type Values = { [key: string]: unknown };

/** The dotted keys of all values; a value that is an empty object or that Kubernetes defines is one key. */
function keysOf(values: Values, prefix = ""): string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const isPart =
      typeof value === "object" && value !== null && !Array.isArray(value) && name !== "resources";
    const key = `${prefix}${name}`;
    return isPart && Object.keys(value).length > 0 ? keysOf(value as Values, `${key}.`) : [key];
  });
}

const values = Bun.YAML.parse(await Bun.file(join(chartFolder, "values.yaml")).text()) as Values;

test("the table in the chart's README has every value with its default, and no other", async () => {
  const readme = await Bun.file(join(chartFolder, "README.md")).text();
  const rows = [...readme.matchAll(/^\| `([\w.]+)` \| (.*?) \|/gm)].map(([, key, text]) => [key, text]);
  const shown = (key: string) => {
    const value = key.split(".").reduce<unknown>((part, name) => (part as Values)[name], values);
    return value === "" ? "" : `\`${key.endsWith("resources") ? "see values.yaml" : JSON.stringify(value)}\``;
  };
  expect(rows).toEqual(keysOf(values).map((key) => [key, shown(key)]));
});

test("the schema names every value", async () => {
  const schema = (await Bun.file(join(chartFolder, "values.schema.json")).json()) as Schema;
  const isNamed = (key: string) => {
    let part: Schema | undefined = schema;
    for (const name of key.split(".")) {
      const named: Schema | undefined = part?.properties?.[name];
      const definition: string | undefined = named?.$ref?.replace("#/definitions/", "");
      part = definition === undefined ? named : schema.definitions?.[definition];
    }
    return part !== undefined;
  };
  expect(keysOf(values).filter((key) => !isNamed(key))).toEqual([]);
});

interface Schema {
  properties?: Record<string, Schema>;
  definitions?: Record<string, Schema>;
  $ref?: string;
}
