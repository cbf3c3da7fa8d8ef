import { z } from "zod";
import { type Field, type Fields, flag, optional, plain, type Stored, time } from "./row.ts";

/** How the fields of a model are stored, as its schema says: booleans and times as numbers, structures as JSON. */
export function fieldsOf<S extends z.ZodRawShape>({
  shape,
}: z.ZodObject<S>): Fields<z.infer<z.ZodObject<S>>> {
  const entries = Object.entries(shape).map(([name, schema]) => [name, fieldOf(schema as z.ZodType)]);
  return Object.fromEntries(entries);
}

function fieldOf(schema: z.ZodType): Field<never> {
  if (schema instanceof z.ZodNullable) return optional(fieldOf(schema.unwrap() as z.ZodType)) as Field<never>;
  if (schema instanceof z.ZodBoolean) return flag as Field<never>;
  if (schema instanceof z.ZodDate) return time as Field<never>;
  const isPlain = [z.ZodString, z.ZodNumber, z.ZodEnum].some((type) => schema instanceof type);
  return (isPlain ? plain<Stored>() : checkedJson(schema)) as Field<never>;
}

/** Read by its schema. What was stored under rules that were weaker than today's stays as it is. */
function checkedJson(schema: z.ZodType): Field<unknown> {
  return {
    encode: (value) => JSON.stringify(value),
    decode(stored) {
      const value: unknown = JSON.parse(String(stored));
      const read = schema.safeParse(value);
      return read.success ? read.data : value;
    },
  };
}
