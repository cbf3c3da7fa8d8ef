import { maxId } from "./scalars.ts";

/** The parts of JSON Schema that our schemas use. */
export interface DocSchema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  example?: unknown;
  properties?: Record<string, DocSchema>;
  required?: string[];
  items?: DocSchema;
  anyOf?: DocSchema[];
  oneOf?: DocSchema[];
  allOf?: DocSchema[];
  additionalProperties?: boolean | DocSchema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
}

const entities: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** The subset of Markdown in our descriptions: `code`, **bold** and paragraphs. */
export function prose(text: string): string {
  return text
    .split(/\n\s*\n/)
    .map((paragraph) => {
      const marked = escapeHtml(paragraph)
        .replaceAll(/`([^`]+)`/g, "<code>$1</code>")
        .replaceAll(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>");
      return `<p>${marked}</p>`;
    })
    .join("");
}

function refName(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}

/** The type of a value in one line, with links to named shapes. */
export function kindOf(schema: DocSchema): string {
  if (schema.$ref) {
    const name = escapeHtml(refName(schema.$ref));
    return `<a href="#shape-${name}">${name}</a>`;
  }
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return choices.map(kindOf).join(" or ");
  if (schema.allOf) return schema.allOf.map(kindOf).join(" and ");
  if (schema.enum)
    return schema.enum.map((value) => `<code>${escapeHtml(String(value))}</code>`).join(" or ");
  if (schema.const !== undefined) return `<code>${escapeHtml(String(schema.const))}</code>`;
  if (schema.items) return `list of ${kindOf(schema.items)}`;
  const values = schema.additionalProperties;
  if (typeof values === "object" && !schema.properties) return `object of ${kindOf(values)}`;
  return escapeHtml(
    [schema.type ?? "any"].flat().join(" or ") + (schema.format ? ` (${schema.format})` : ""),
  );
}

/** Limits and default as text. */
function limitsOf(schema: DocSchema): string {
  const limits = [
    schema.minimum !== undefined && schema.minimum > -Number.MAX_SAFE_INTEGER ? `from ${schema.minimum}` : "",
    schema.maximum !== undefined && schema.maximum < maxId ? `at most ${schema.maximum}` : "",
    schema.maxLength !== undefined ? `at most ${schema.maxLength} characters` : "",
    schema.maxItems !== undefined ? `at most ${schema.maxItems} entries` : "",
    schema.default !== undefined ? `default <code>${escapeHtml(JSON.stringify(schema.default))}</code>` : "",
  ];
  return limits.filter((limit) => limit !== "").join(", ");
}

export interface DocField {
  name: string;
  place?: string;
  isRequired: boolean;
  schema: DocSchema;
  description?: string;
}

/** Fields of an object, nested ones as `git.url`. Named shapes are links. */
export function fieldsOf(schema: DocSchema, prefix = ""): DocField[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, field]) => {
    const isRequired = schema.required?.includes(key) ?? false;
    const own = { name: prefix + key, isRequired, schema: field };
    return field.properties ? [own, ...fieldsOf(field, `${prefix}${key}.`)] : [own];
  });
}

export function fieldTable(fields: DocField[]): string {
  if (fields.length === 0) return "";
  const rows = fields.map((field) => {
    const notes = [field.description ?? field.schema.description ?? ""]
      .filter((note) => note !== "")
      .map(prose);
    const limits = limitsOf(field.schema);
    if (limits !== "") notes.push(`<p class="limits">${limits}</p>`);
    const place = field.place ? ` <span class="place">${escapeHtml(field.place)}</span>` : "";
    const mark = field.isRequired ? ' <span class="required">required</span>' : "";
    return `<tr><th scope="row"><code>${escapeHtml(field.name)}</code>${place}${mark}</th><td>${kindOf(field.schema)}</td><td>${notes.join("")}</td></tr>`;
  });
  return `<div class="scroll"><table><tbody>${rows.join("")}</tbody></table></div>`;
}

/** An object as a table of fields, a union as one table for each alternative, other values as their type. */
export function schemaBlock(schema: DocSchema): string {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices?.some((choice) => choice.properties)) return choices.map(schemaBlock).join("<p>or</p>");
  return schema.properties ? fieldTable(fieldsOf(schema)) : `<p>${kindOf(schema)}</p>`;
}
