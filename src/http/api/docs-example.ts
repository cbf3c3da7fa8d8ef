import type { DocSchema } from "./docs-schema.ts";

/** Shapes by name, to follow a `$ref`. */
export type Shapes = Record<string, DocSchema>;

/** A value that matches the schema: required fields, and fields with an example. */
function exampleOf(schema: DocSchema, shapes: Shapes): unknown {
  if (schema.$ref)
    return exampleOf(shapes[schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)] ?? {}, shapes);
  if (schema.example !== undefined) return schema.example;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const choice = (schema.anyOf ?? schema.oneOf ?? schema.allOf)?.[0];
  if (choice) return exampleOf(choice, shapes);
  if (schema.default !== undefined) return schema.default;
  if (schema.properties) return exampleObject(schema, shapes);
  if (schema.items) return [exampleOf(schema.items, shapes)];
  return plainExamples[[schema.type ?? "string"].flat()[0] ?? "string"] ?? "…";
}

const plainExamples: Record<string, unknown> = {
  integer: 7,
  number: 7,
  boolean: true,
  object: {},
  null: null,
};

function exampleObject(schema: DocSchema, shapes: Shapes): Record<string, unknown> {
  const shown = Object.entries(schema.properties ?? {}).filter(
    ([name, field]) => schema.required?.includes(name) || field.example !== undefined,
  );
  return Object.fromEntries(shown.map(([name, field]) => [name, exampleOf(field, shapes)]));
}

/** The call as a shell command. */
export function curlExample(
  method: string,
  path: string,
  credential: string | null,
  body: DocSchema | null,
  shapes: Shapes,
) {
  const lines = [
    `curl -X ${method.toUpperCase()} "$SLIPWAY_URL${path.replaceAll(/\{(\w+)\}/g, pathExample)}"`,
  ];
  if (credential) lines.push(`-H "${credential}"`);
  if (body) {
    const text = JSON.stringify(exampleOf(body, shapes)).replaceAll("'", String.raw`'\''`);
    lines.push("-H 'content-type: application/json'", `-d '${text}'`);
  }
  return lines.join(" \\\n  ");
}

function pathExample(_: string, name: string): string {
  return /id$/i.test(name) ? "7" : name.toUpperCase();
}
