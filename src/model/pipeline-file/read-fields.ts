import type { z } from "zod";
import { newReason, type Reason } from "../../reason/reason.ts";
import { fieldMessage, type SchemaFault, schemaFaults } from "../../reason/schema-faults.ts";
import { type FileFault, inOrder } from "./file-fault.ts";
import { type PlacedValue, readYaml } from "./yaml-places.ts";

/** What a file says, by a schema. */
export interface ReadFields<T> {
  fields: T;
  /** Where a field is in the file. */
  faultAt(path: readonly PropertyKey[], message: Reason): FileFault;
}

export interface FieldRules {
  /** What is said of a file without a value, and of one that is no map. */
  empty: Reason;
  noMap: Reason;
  /** What is wrong with a name that the schema does not know, if more than that can be said. */
  nameFault?: (path: readonly PropertyKey[]) => Reason | null;
}

/** The fields of a file in YAML, or what is wrong with them, in the order of its lines. */
export function readFields<S extends z.ZodType>(
  text: string,
  schema: S,
  rules: FieldRules,
): ReadFields<z.output<S>> | FileFault[] {
  const read = readYaml(text);
  if ("message" in read) return [{ ...read, field: "" }];
  const { value } = read;
  if (value === null || value === undefined) return [{ line: 1, column: 1, field: "", message: rules.empty }];
  if (typeof value !== "object" || Array.isArray(value))
    return [{ line: 1, column: 1, field: "", message: rules.noMap }];
  const parsed = schema.safeParse(value, { error: fieldMessage });
  const faultAt = (path: readonly PropertyKey[], message: Reason, isName = false): FileFault => ({
    ...read.placeOf(path, isName ? "name" : "value"),
    field: path.map(String).join("."),
    message,
  });
  if (parsed.success) return { fields: parsed.data, faultAt: (path, message) => faultAt(path, message) };
  return inOrder(
    schemaFaults(parsed.error.issues).map((fault) =>
      faultAt(fault.path, messageOf(fault, read, rules), fault.isName),
    ),
  );
}

function messageOf(
  { path, message, isName }: SchemaFault,
  { value }: PlacedValue,
  rules: FieldRules,
): Reason {
  if (isName) return rules.nameFault?.(path) ?? message;
  const isNumber = ["number", "boolean"].includes(typeof valueAt(value, path));
  const isText = typeof message === "object" && "code" in message && message.code === "must_be_text";
  return isText && isNumber ? newReason("file_quotes") : message;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (held, part) => (held === null || typeof held !== "object" ? undefined : Reflect.get(held, part)),
    value,
  );
}
