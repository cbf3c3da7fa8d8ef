import fc from "fast-check";

/** The part of a JSON schema that the API's own document uses. */
export interface ValueSchema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  example?: unknown;
  properties?: Record<string, ValueSchema>;
  required?: string[];
  items?: ValueSchema;
  anyOf?: ValueSchema[];
  oneOf?: ValueSchema[];
  additionalProperties?: boolean | ValueSchema;
}

export type Shapes = Record<string, ValueSchema>;

/** Text that has broken other programs. */
export const nastyText = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom(
    "",
    "\0",
    "\ud800",
    "__proto__",
    "constructor",
    "-1",
    "1e400",
    "NaN",
    "../..",
    "%00",
    "'; --",
    "`id`",
  ),
  fc.constant("x".repeat(70_000)),
);

const nastyNumber = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.constantFrom(0, -1, 2 ** 31, 2 ** 53, 1e308, -0.5, 2 ** 31 - 1),
);

const nasty = fc.oneof(fc.jsonValue({ maxDepth: 3 }), nastyText, nastyNumber, fc.constant(null));

/** Mostly valid values of the schema, sometimes hostile JSON, at every level. */
export function valuesOf(schema: ValueSchema, shapes: Shapes): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 8, arbitrary: fitting(schema, shapes) }, { weight: 1, arbitrary: nasty });
}

function fitting(schema: ValueSchema, shapes: Shapes): fc.Arbitrary<unknown> {
  if (schema.$ref) return valuesOf(shapes[schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)] ?? {}, shapes);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return fc.oneof(...choices.map((choice) => valuesOf(choice, shapes)));
  if (schema.properties) return objectOf(schema, shapes);
  if (schema.items) return fc.array(valuesOf(schema.items, shapes), { maxLength: 4 });
  if (typeof schema.additionalProperties === "object")
    return fc.dictionary(nastyText, valuesOf(schema.additionalProperties, shapes), { maxKeys: 4 });
  const plain = plainOf([schema.type ?? "string"].flat());
  return schema.example === undefined ? plain : fc.oneof(fc.constant(schema.example), plain);
}

function objectOf(schema: ValueSchema, shapes: Shapes): fc.Arbitrary<unknown> {
  const fields = Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, field]) => [name, valuesOf(field, shapes)]),
  );
  const own = fc.record(fields, { requiredKeys: schema.required ?? [] });
  const withSurplus = fc
    .tuple(own, fc.dictionary(nastyText, nasty, { maxKeys: 1 }))
    .map(([a, b]) => ({ ...a, ...b }));
  return fc.oneof({ weight: 9, arbitrary: own }, { weight: 1, arbitrary: withSurplus });
}

function plainOf(types: string[]): fc.Arbitrary<unknown> {
  const kinds: Record<string, fc.Arbitrary<unknown>> = {
    string: nastyText,
    integer: fc.oneof(fc.integer({ min: 1, max: 300 }), nastyNumber),
    number: nastyNumber,
    boolean: fc.boolean(),
    null: fc.constant(null),
  };
  return fc.oneof(...types.map((type) => kinds[type] ?? nasty));
}
